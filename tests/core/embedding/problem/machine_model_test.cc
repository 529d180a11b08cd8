#include "core/embedding/problem/machine_model.h"

#include <cmath>
#include <utility>

#include <doctest/doctest.h>

namespace shardwright::machine_model_test {

using namespace shardwright::embedding;

namespace {

double term(const CostTerms& terms, CostTerm of) { return terms[static_cast<std::size_t>(of)]; }

LookupCall call_of(double rows, double dim, double bags, double lookups) {
  LookupCall call;
  call.rows = rows;
  call.dim = dim;
  call.bags = bags;
  call.lookups = lookups;
  return call;
}

LookupModel model_of(double ns_of_call, double ns_of_table, double ns_of_lookup) {
  LookupModel model;
  model.measured = {{{1, 1000}, {4, 128}, {1, 100}, {1, 1000}, {0, 0}}};
  model.forward.ns[static_cast<std::size_t>(CostTerm::kCall)] = ns_of_call;
  model.forward.ns[static_cast<std::size_t>(CostTerm::kTable)] = ns_of_table;
  model.forward.ns[static_cast<std::size_t>(CostTerm::kLookup)] = ns_of_lookup;
  return model;
}

MachineSpec spec_of(std::vector<LookupModel> models) {
  MachineSpec spec;
  spec.name = "node";
  spec.device = ComputeDevice::kCpu;
  spec.memory_bytes = 1 << 30;
  spec.lookups = std::move(models);
  return spec;
}

TEST_CASE("machine model: terms of a small table that fits every cache") {
  // A row of 16 columns is one cache line. Draws of 100 among 10 rows leave 10 e^-10 unseen.
  const CostTerms terms = cost_terms({}, call_of(10, 16, 20, 100), {{1 << 20, 1 << 25}, 4096});
  const double seen = 10 * (1 - std::exp(-10));
  CHECK(term(terms, CostTerm::kCall) == 1);
  CHECK(term(terms, CostTerm::kTable) == 1);
  CHECK(term(terms, CostTerm::kLookup) == 100);
  CHECK(term(terms, CostTerm::kLookupElement) == 1600);
  CHECK(term(terms, CostTerm::kBag) == 20);
  CHECK(term(terms, CostTerm::kOutputElement) == 320);
  CHECK(term(terms, CostTerm::kL3Line) == doctest::Approx(seen));
  CHECK(term(terms, CostTerm::kMemoryLine) == doctest::Approx(seen));
  CHECK(term(terms, CostTerm::kWalkLine) == 1);
  CHECK(term(terms, CostTerm::kPage) == doctest::Approx(1 - std::exp(-seen)));
  CHECK(term(terms, CostTerm::kHostByte) == 0);
  CHECK(term(terms, CostTerm::kSortPass) == 100);  // 10 rows are sorted in one pass
  CHECK(term(terms, CostTerm::kRow) == doctest::Approx(seen));
  CHECK(term(terms, CostTerm::kScatteredRow) == doctest::Approx(seen * (1 - seen / 10)));
  CHECK(term(terms, CostTerm::kRowElement) == doctest::Approx(16 * seen));
  // One line of gradient for each of 20 bags.
  CHECK(term(terms, CostTerm::kGradientLine) == doctest::Approx(20 * (1 - std::exp(-5))));
  CHECK(term(terms, CostTerm::kTableByte) == 0);
}

TEST_CASE("machine model: a cache that is too small misses by Che's approximation") {
  // 100 of 1000 lines fit. They are in after -1000 ln 0.9 draws; then nine of ten draws miss.
  const double l2 = 100 * 64 / 0.75;
  const CostTerms terms = cost_terms({}, call_of(1000, 16, 10, 1000), {{l2, 0}, 4096});
  const double filled = -1000 * std::log(0.9);
  CHECK(term(terms, CostTerm::kL3Line) == doctest::Approx(100 + (1000 - filled) * 0.9));
  CHECK(term(terms, CostTerm::kMemoryLine) == term(terms, CostTerm::kL3Line));  // there is no L3
}

TEST_CASE("machine model: rows below a cache line share it, and tables add up") {
  LookupKind half;
  half.data_type = DataType::kFp16;
  LookupCall call = call_of(64, 8, 10, 1e6);  // rows of 16 bytes, four in a line
  const DeviceMemory memory{{1 << 20, 1 << 25}, 4096};
  const CostTerms one = cost_terms(half, call, memory);
  CHECK(term(one, CostTerm::kMemoryLine) == doctest::Approx(16));
  CHECK(term(one, CostTerm::kRow) == doctest::Approx(64));
  call.tables = 3;
  const CostTerms three = cost_terms(half, call, memory);
  CHECK(term(three, CostTerm::kCall) == 1);
  CHECK(term(three, CostTerm::kMemoryLine) == doctest::Approx(48));
}

TEST_CASE("machine model: skewed lookups touch fewer rows") {
  CHECK(popular_share(1, 3, 1) == doctest::Approx(0.5));  // log 2 / log 4
  CHECK(popular_share(250, 1000, 0) == doctest::Approx(0.25));
  CHECK(popular_share(2000, 1000, 1.2) == 1);
  const DeviceMemory memory{{1 << 20, 1 << 25}, 4096};
  double before = 1e9;
  for (const double zipf : {0.0, 0.5, 1.0, 1.2}) {
    LookupCall call = call_of(1e6, 64, 1000, 1e5);
    call.zipf = zipf;
    const double rows = term(cost_terms({}, call, memory), CostTerm::kRow);
    CHECK(rows < before);
    CHECK(rows > 1);
    before = rows;
  }
}

TEST_CASE("machine model: other kernels count what only they do") {
  LookupKind kind;
  kind.kernel = ComputeKernel::kDense;
  const DeviceMemory memory{{1 << 20, 1 << 25}, 4096};
  CHECK(term(cost_terms(kind, call_of(100, 16, 1, 1), memory), CostTerm::kTableByte) == 6400);
  kind.kernel = ComputeKernel::kFusedUvmCaching;
  LookupCall call = call_of(100, 16, 1, 10);
  call.hit_rate = 0.75;
  CHECK(term(cost_terms(kind, call, memory), CostTerm::kHostByte) == doctest::Approx(160));
  kind.pooled = false;  // a result for each lookup
  CHECK(term(cost_terms(kind, call, memory), CostTerm::kOutputElement) == 160);
}

TEST_CASE("machine model: a table's time leaves out what is fixed for a call") {
  LookupModel model = model_of(1e6, 500, 20);
  model.backward = model.forward;
  model.backward->ns[static_cast<std::size_t>(CostTerm::kTable)] = 1000;
  const auto machine = MachineModel::make(spec_of({model}));
  REQUIRE(machine.ok());
  const LookupTimes times = machine->times(model, call_of(100, 16, 10, 100));
  CHECK(times.forward_ms == doctest::Approx((500 + 20 * 100) / 1e6));
  CHECK(times.backward_ms == doctest::Approx((1000 + 20 * 100) / 1e6));
  CHECK(machine->times(model, call_of(100, 16, 10, 0)).forward_ms == 0);
}

TEST_CASE("machine model: beyond the measured ranges, times grow with bytes from the edge on") {
  const LookupModel model = model_of(0, 0, 20);
  const auto machine = MachineModel::make(spec_of({model}));
  REQUIRE(machine.ok());
  const LookupCall edge = call_of(1000, 128, 100, 1000), beyond = call_of(1000, 256, 100, 1000);
  CHECK(model.has_measured(edge));
  CHECK_FALSE(model.has_measured(beyond));
  const auto bytes = [](double dim) { return 1000 * (8 + dim * 4) + 100 * dim * 4; };
  CHECK(machine->times(model, beyond).forward_ms ==
        doctest::Approx(0.02 * bytes(256) / bytes(128)));
}

TEST_CASE("machine model: a kernel without an optimizer takes the first that was measured") {
  LookupModel first = model_of(1, 1, 1), second = first;
  first.kind.optimizer = "exact_row_wise_adagrad";
  second.kind.optimizer = "exact_sgd";
  const auto machine = MachineModel::make(spec_of({first, second}));
  REQUIRE(machine.ok());
  CHECK(machine->find(LookupKind{})->kind.optimizer == "exact_row_wise_adagrad");
  CHECK(machine->find(second.kind)->kind.optimizer == "exact_sgd");
  second.kind.data_type = DataType::kFp16;
  CHECK(machine->find(second.kind) == nullptr);
}

TEST_CASE("machine model: a collective has a knee") {
  MeasuredCollective model;
  model.latency_us = 5;
  model.knee_bytes = 1000;
  model.us_per_byte_below = 0.01;
  model.us_per_byte_above = 0.001;
  CHECK(model.us(500) == doctest::Approx(10));
  CHECK(model.us(3000) == doctest::Approx(5 + 10 + 2));
  CHECK(model.us_per_byte(500) == 0.01);
  CHECK(model.us_per_byte(1000) == 0.001);
}

TEST_CASE("machine model: what is wrong has its place in the file") {
  const auto where = [](MachineSpec spec) {
    const auto made = MachineModel::make(std::move(spec));
    return made.ok() ? std::string() : made.error().where;
  };
  const LookupModel model = model_of(1, 1, 1);
  CHECK(where(spec_of({model})).empty());
  CHECK(where(spec_of({model, model})) == "/embedding/models/1");
  MachineSpec spec = spec_of({model});
  spec.name.clear();
  CHECK(where(spec) == "/machine/name");
  spec = spec_of({model});
  spec.memory_bytes = 0;
  CHECK(where(spec) == "/machine/memory");
  spec = spec_of({model});
  spec.lookups[0].forward.ns[2] = -1;
  CHECK(where(spec) == "/embedding/models/0/forward/ns/lookup");
  spec = spec_of({model});
  spec.lookups[0].measured[0] = {5, 4};
  CHECK(where(spec) == "/embedding/models/0/measured/rows");
  spec = spec_of({});
  spec.collectives.push_back({});
  CHECK(where(spec) == "/collectives/models/0/ranks");
}

}  // namespace

}  // namespace shardwright::machine_model_test
