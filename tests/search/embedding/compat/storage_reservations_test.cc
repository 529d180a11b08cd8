// Storage reservations: the HBM and DDR that they leave for tables.
#include "search/embedding/compat/storage_reservations.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::storage_reservations_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using shardwright::test_support::problem_spec;

// Two tables on two ranks of 1,000,000 bytes HBM, 2,000,000 DDR and 10 samples each.
ProblemSpec small(ReservationSpec::Type type, double percentage,
                  ComputeDevice device = ComputeDevice::kCuda) {
  ProblemSpec spec = problem_spec(2, 2, 2);
  spec.batch_size = 10;
  spec.topology.compute_device = device;
  spec.topology.hbm_cap_bytes = 1'000'000;
  spec.topology.ddr_cap_bytes = 2'000'000;
  spec.reservation.type = type;
  spec.reservation.percentage = percentage;
  return spec;
}

Result<Reservation> reserved(ProblemSpec spec) {
  return reserve(Problem::make(std::move(spec)).value());
}

Storage bytes(std::int64_t hbm, std::int64_t ddr) { return {Bytes(hbm), Bytes(ddr)}; }

// Bytes of inputs: one lookup of 8 bytes per sample and table.
constexpr std::int64_t kInputs = 2 * 10 * 8;

ProblemSpec sku_aware(std::int64_t margin, std::int64_t overhead) {
  ProblemSpec spec = small(ReservationSpec::Type::kSkuAware, 0.5);
  spec.dense_params = 1000;
  spec.reservation.margin_bytes = margin;
  spec.reservation.runtime_overhead_bytes = overhead;
  return spec;
}

}  // namespace

TEST_CASE("reserve: bytes of HBM are taken as far as there are any") {
  ProblemSpec spec = small(ReservationSpec::Type::kFixedAbsolute, 0.5);
  spec.reservation.hbm_reserved_bytes = 300'000;
  const Reservation left = reserved(spec).value();
  CHECK(left.topology.storage()[1] == bytes(700'000, 2'000'000));
  CHECK_FALSE(left.dense_storage.has_value());
  spec.reservation.hbm_reserved_bytes = 2'000'000;
  CHECK(reserved(spec).value().topology.storage()[0] == bytes(0, 2'000'000));
  spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(Problem::make(spec).error().where == "/reservation/type");
}

TEST_CASE("reserve: SKU-aware takes margin, overhead, dense parameters and inputs") {
  const Reservation left = reserved(sku_aware(100'000, 50'000)).value();
  CHECK(left.dense_storage == bytes(6 * 4 * 1000, 0));
  CHECK(left.kjt_storage == bytes(20 * kInputs, 0));
  CHECK(left.topology.storage()[1] ==
        bytes(1'000'000 - 150'000 - 24'000 - 20 * kInputs, 2'000'000));
}

TEST_CASE("reserve: a given base replaces margin and dense parameters") {
  ProblemSpec spec = sku_aware(100'000, 0);
  spec.reservation.model_base_bytes = 200'000;
  const Reservation left = reserved(spec).value();
  CHECK_FALSE(left.dense_storage.has_value());
  CHECK(left.topology.storage()[0] == bytes(1'000'000 - 200'000 - 20 * kInputs, 2'000'000));
}

TEST_CASE("reserve: SKU-aware must leave rank 0 some HBM") {
  // The other parts are 0, so the margin and the inputs decide to the byte.
  ProblemSpec spec = sku_aware(990'000, 0);
  spec.dense_params = 0;
  spec.reservation.margin_bytes = 1'000'000 - 20 * kInputs;
  CHECK(reserved(spec).error().code == ErrorCode::kInfeasible);
  spec.reservation.margin_bytes -= 1;
  CHECK(reserved(spec).value().topology.storage()[0].hbm == Bytes(1));
}

TEST_CASE("reserve: without a reservation nothing is reserved") {
  const Reservation left = reserved(small(ReservationSpec::Type::kNone, 0.5)).value();
  CHECK(left.topology.storage()[1] == bytes(1'000'000, 2'000'000));
  CHECK_FALSE(left.dense_storage.has_value());
  CHECK_FALSE(left.kjt_storage.has_value());
}

TEST_CASE("reserve: a fixed percentage applies to HBM only, rounded down") {
  ProblemSpec spec = small(ReservationSpec::Type::kFixed, 0.15);
  spec.topology.hbm_cap_bytes = 999'999;
  const Reservation left = reserved(spec).value();
  CHECK(left.topology.storage()[0] ==
        bytes(static_cast<std::int64_t>((1 - 0.15) * 999'999), 2'000'000));
  CHECK(left.topology.storage()[0].hbm.value() == 849'999);
  CHECK_FALSE(left.dense_storage.has_value());
  CHECK(reserved(small(ReservationSpec::Type::kFixed, 1)).value().topology.storage()[0] ==
        bytes(0, 2'000'000));
}

TEST_CASE("reserve: the heuristic reserves six times the dense part and twenty inputs") {
  ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, 0.25);
  spec.dense_params = 1000;
  const Reservation left = reserved(spec).value();
  CHECK(left.dense_storage == bytes(24'000, 0));
  CHECK(left.kjt_storage == bytes(20 * kInputs, 0));
  CHECK(left.topology.storage()[1] == bytes(750'000 - 24'000 - 20 * kInputs, 2'000'000));
}

TEST_CASE("reserve: inference reserves the dense part and one input") {
  ProblemSpec spec = small(ReservationSpec::Type::kInference, 0);
  spec.dense_params = 1000;
  const Reservation left = reserved(spec).value();
  CHECK(left.dense_storage == bytes(4000, 0));
  CHECK(left.kjt_storage == bytes(kInputs, 0));
  CHECK(left.topology.storage()[0] == bytes(1'000'000 - 4000 - kInputs, 2'000'000));
}

TEST_CASE("reserve: on a cpu the percentage touches no DDR, dense parts and inputs do") {
  ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, 0.5, ComputeDevice::kCpu);
  spec.dense_params = 1000;
  const Reservation left = reserved(spec).value();
  CHECK(left.dense_storage == bytes(0, 24'000));
  CHECK(left.topology.storage()[0] == bytes(0, 2'000'000 - 24'000 - 20 * kInputs));
  CHECK(reserved(small(ReservationSpec::Type::kHeuristical, 0.5, ComputeDevice::kMtia))
            .value()
            .kjt_storage == bytes(20 * kInputs, 0));
}

TEST_CASE("reserve: dense parts can be given as bytes or by another multiplier") {
  ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, 0);
  spec.dense_params = 1000;
  spec.reservation.parameter_multiplier = 2.5;
  CHECK(reserved(spec).value().dense_storage == bytes(10'000, 0));
  spec.reservation.dense_tensor_estimate_bytes = 777;
  CHECK(reserved(spec).value().dense_storage == bytes(777, 0));
  spec.reservation.dense_tensor_estimate_bytes = 0;  // 0 stands for no estimate
  CHECK(reserved(spec).value().dense_storage == bytes(10'000, 0));
  spec.dense_params = 1;
  spec.reservation.parameter_multiplier = 0.625;  // 2.5 bytes, rounded half to even
  CHECK(reserved(spec).value().dense_storage == bytes(2, 0));
}

TEST_CASE("reserve: inputs follow pooling factors and batch sizes, not the number of poolings") {
  ProblemSpec spec = small(ReservationSpec::Type::kInference, 0);
  ParameterConstraints& constraints = spec.tables[0].constraints.emplace();
  constraints.pooling_factors = {2, 0.5};
  constraints.num_poolings = {3, 3};
  constraints.batch_sizes = {10, 5};
  // 20 + 2.5 lookups of one table and 10 of the other, 8 bytes each.
  CHECK(reserved(spec).value().kjt_storage == bytes(260, 0));
  constraints.pooling_factors = {0.01, 0};
  constraints.batch_sizes.clear();
  // 10.1 lookups are 80.8 bytes, which are rounded up.
  CHECK(reserved(spec).value().kjt_storage == bytes(81, 0));
}

TEST_CASE("reserve: batch sizes of a table that is left out shift those of the tables behind it") {
  ProblemSpec spec = small(ReservationSpec::Type::kInference, 0);
  spec.tables[0].constraints.emplace().device_group = "cpu";
  spec.tables[0].constraints->pooling_factors = {2};
  spec.tables[1].constraints.emplace().pooling_factors = {0.5};
  spec.tables[1].constraints->batch_sizes = {10};
  CHECK(reserved(spec).value().kjt_storage == bytes((20 + 5) * 8, 0));
  spec.tables[0].constraints->batch_sizes = {7, 3};  // 3 becomes the second table's batch size
  CHECK(reserved(spec).value().kjt_storage == bytes(124, 0));  // 14 + 1.5 lookups
  spec.tables[0].constraints->batch_sizes.clear();
  // 3 belongs to the second table's batch size.
  spec.tables[0].constraints->pooling_factors = {2, 3};
  spec.tables[0].constraints->batch_sizes = {7};
  CHECK(reserved(spec).value().kjt_storage == bytes((14 + 30) * 8, 0));
}

TEST_CASE(
    "reserve: a heuristic that takes more than rank 0 has is infeasible and says by how much") {
  ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, 0.25);
  spec.dense_params = 31'250;  // 750,000 bytes: all that is left
  const auto refused = reserved(spec);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInfeasible);
  CHECK(refused.error().message.find(std::to_string(20 * kInputs)) != std::string::npos);
  spec.batch_size = 1;
  spec.dense_params = 31'250 - 14;  // 336 bytes are free, and the inputs take 320
  CHECK(reserved(spec).value().topology.storage()[0].hbm.value() == 16);
}

TEST_CASE("reserve: the advice names changes that suffice alone, and nothing else") {
  const auto advice = [](double percentage, std::int64_t dense_params, std::int64_t batch_size) {
    ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, percentage);
    spec.dense_params = dense_params;
    spec.batch_size = batch_size;
    const auto refused = reserved(spec);
    REQUIRE_FALSE(refused.ok());
    const std::string& message = refused.error().message;
    return message.substr(message.find("for inputs; ") + 12);
  };
  const std::string more = "use ranks with more HBM";
  const std::string batch = ", or a smaller batch size";
  const std::string percent = ", or a smaller reservation percentage";
  const std::string fixed = ", or a fixed reservation if the dense part is sharded elsewhere";
  // A rank has 1,000,000 bytes. A dense parameter takes 24 bytes, and a sample takes 320.
  CHECK(advice(0.25, 50'000, 10) == more + fixed);
  CHECK(advice(0.25, 31'200, 10) == more + batch + percent + fixed);
  CHECK(advice(0.25, 0, 10'000) == more + batch);
  CHECK(advice(0.25, 50'000, 10'000) == more);
  CHECK(advice(0, 41'000, 100) == more + batch + fixed);
}

TEST_CASE("reserve: only rank 0 decides, and only for the heuristic") {
  ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, 0);
  spec.dense_params = 1000;
  spec.topology.custom_hbm_cap_bytes = {1'000'000, 10};
  const Reservation left = reserved(spec).value();
  CHECK(left.topology.storage()[1].hbm.value() == 10 - 24'000 - 20 * kInputs);
  spec.reservation.type = ReservationSpec::Type::kInference;
  spec.topology.custom_hbm_cap_bytes = {10, 10};
  CHECK(reserved(spec).value().topology.storage()[0].hbm.value() < 0);
}

TEST_CASE("reserve: inputs of more than 2^62 bytes are refused") {
  ProblemSpec spec = small(ReservationSpec::Type::kHeuristical, 0);
  spec.batch_size = std::int64_t{1} << 40;
  spec.tables[0].constraints.emplace().pooling_factors = {1e9};
  const auto refused = reserved(spec);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().where == "/reservation");
}

TEST_CASE("reserve: reserved memory is subtracted first, then the margin of the rest") {
  ProblemSpec spec = small(ReservationSpec::Type::kFixed, 0.5);
  spec.memory.reserved_bytes.hbm = {0, 100'001};
  spec.memory.margins.hbm.fraction = 0.25;
  spec.memory.margins.ddr.bytes = 7;
  const Reservation left = reserved(spec).value();
  CHECK(left.topology.storage()[0] == bytes(375'000, 1'999'993));
  CHECK(left.topology.storage()[1] == bytes(299'999, 1'999'993));
  REQUIRE(left.margin.size() == 2);
  CHECK(left.margin[0] == bytes(125'000, 7));
  CHECK(left.margin[1] == bytes(100'000, 7));
}

TEST_CASE(
    "reserve: memory is set aside without a reservation, too, and a margin is never negative") {
  ProblemSpec spec = small(ReservationSpec::Type::kNone, 0);
  spec.memory.reserved_bytes.ddr = {10};
  CHECK(reserved(spec)->topology.storage()[1] == bytes(1'000'000, 1'999'990));
  CHECK(reserved(spec)->margin.empty());
  spec.memory.margins.hbm.bytes = 3'000'000;
  CHECK(reserved(spec)->topology.storage()[1] == bytes(0, 1'999'990));
  ProblemSpec cpu = small(ReservationSpec::Type::kNone, 0, ComputeDevice::kCpu);
  cpu.memory.margins.hbm.bytes = cpu.memory.margins.ddr.bytes = 1000;
  CHECK(reserved(cpu)->topology.storage()[0] == bytes(0, 1'999'000));
}

}  // namespace shardwright::storage_reservations_test
