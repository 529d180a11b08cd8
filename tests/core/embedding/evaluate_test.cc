// The evaluator: sums worked out by hand, and a plan that breaks each rule.
#include "core/embedding/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::evaluate_test {

namespace {

using namespace shardwright::embedding;
using shardwright::Bytes;
using shardwright::Milliseconds;
using shardwright::test_support::OptionStore;
using shardwright::test_support::problem_spec;
using Kind = Violation::Kind;

Problem make_problem(std::size_t tables, std::int64_t world_size, std::int64_t local_world_size) {
  return Problem::make(problem_spec(tables, world_size, local_world_size)).value();
}

Plan make_plan(const std::vector<const ShardingOption*>& options, const std::vector<Rank>& ranks) {
  return Plan::make(nullptr, options, ranks);
}

// Returns the kinds of violations of a plan with this option on these ranks. The problem has one
// table of 24 x 16.
std::vector<Kind> violations(const ShardingOption& option, const std::vector<Rank>& ranks,
                             std::int64_t world_size = 8, std::int64_t local_world_size = 2) {
  const Problem problem = make_problem(1, world_size, local_world_size);
  const Evaluation evaluation = evaluate(problem, problem.topology(), make_plan({&option}, ranks));
  std::vector<Kind> kinds;
  for (const Violation& violation : evaluation.violations) {
    CHECK_FALSE(violation.message.empty());
    kinds.push_back(violation.kind);
  }
  CHECK(evaluation.valid() == kinds.empty());
  return kinds;
}

const std::vector<Kind> kNone;

ShardCost cost_of(double fwd_compute, double fwd_comms, double bwd_compute, std::int64_t hbm) {
  ShardCost cost;
  cost.perf.fwd_compute = Milliseconds(fwd_compute);
  cost.perf.fwd_comms = Milliseconds(fwd_comms);
  cost.perf.bwd_compute = Milliseconds(bwd_compute);
  cost.storage = {Bytes(hbm), Bytes(hbm / 10)};
  return cost;
}

// Returns the kinds of violations if the shards of the only table, 24 x 16, are these extents.
std::vector<Kind> cut(ShardingType type, const std::vector<ShardExtent>& extents,
                      const std::vector<Rank>& ranks, std::int64_t world_size = 4) {
  OptionStore store;
  const std::vector<ShardCost> costs(extents.size(), cost_of(1, 0, 0, 10));
  return violations(store.add(TableId(0), type, extents, costs), ranks, world_size, 2);
}

}  // namespace

TEST_CASE("evaluate: adds up memory and times of every rank") {
  OptionStore store;
  const Problem problem = make_problem(3, 2, 2);
  const std::vector<const ShardingOption*> options{
      &store.add(TableId(0), ShardingType::kRowWise,
                 {{16, 16, 0, 0, 0, 0, 1}, {8, 16, 16, 0, 0, 0, 1}},
                 {cost_of(0.1, 0.2, 0.3, 100), cost_of(1, 2, 3, 50)}),
      &store.add_even(TableId(1), ShardingType::kColumnWise, 2, 10, 1000),
      &store.add_even(TableId(2), ShardingType::kTableWise, 1, 0.5, 7)};
  const Evaluation evaluation =
      evaluate(problem, problem.topology(), make_plan(options, {0, 1, 1, 1, 0}));
  CHECK(evaluation.valid());
  CHECK(evaluation.perf_ms_by_rank == std::vector<double>{((0.1 + 0.3) + 0.2) + 0.5, 26});
  CHECK(evaluation.storage_by_rank ==
        std::vector<Storage>{{Bytes(107), Bytes(10)}, {Bytes(2050), Bytes(5)}});
  CHECK(evaluation.perf_parts_by_rank[0].fwd_compute.value() == 0.1 + 0.5);
  CHECK(evaluation.perf_parts_by_rank[0].fwd_comms.value() == 0.2);
  CHECK(evaluation.perf_parts_by_rank[1].bwd_compute.value() == 3);
  CHECK(evaluation.rating == 26);
}

TEST_CASE("evaluate: times are summed in proposal order") {
  OptionStore store;
  const Problem problem = make_problem(3, 1, 1);
  const ShardingOption* const large =
      &store.add_even(TableId(0), ShardingType::kTableWise, 1, 9007199254740992.0);
  const ShardingOption* const one = &store.add_even(TableId(1), ShardingType::kTableWise, 1, 1);
  const ShardingOption* const other = &store.add_even(TableId(2), ShardingType::kTableWise, 1, 1);
  const auto rating = [&](const std::vector<const ShardingOption*>& options) {
    return evaluate(problem, problem.topology(), make_plan(options, {0, 0, 0})).rating;
  };
  CHECK(rating({large, one, other}) == 9007199254740992.0);
  CHECK(rating({one, other, large}) == 9007199254740994.0);
}

TEST_CASE("evaluate: the storage model rates the fullest rank") {
  OptionStore store;
  auto spec = problem_spec(1, 2, 2);
  spec.perf_model = PerfModel::kStorage;
  const Problem problem = Problem::make(spec).value();
  const Plan plan =
      make_plan({&store.add_even(TableId(0), ShardingType::kTableWise, 1, 5, 300)}, {1});
  CHECK(evaluate(problem, problem.topology(), plan).rating == 300);
}

TEST_CASE("evaluate: reports tables that are missing, placed twice, or unknown") {
  OptionStore store;
  const Problem problem = make_problem(2, 2, 2);
  const ShardingOption* const first = &store.add_even(TableId(0), ShardingType::kTableWise, 1);
  const ShardingOption* const second = &store.add_even(TableId(1), ShardingType::kTableWise, 1);
  const ShardingOption* const unknown = &store.add_even(TableId(2), ShardingType::kTableWise, 1);
  const ShardingOption* const invalid = &store.add_even(TableId(), ShardingType::kTableWise, 1);
  const auto judge = [&](const std::vector<const ShardingOption*>& options) {
    return evaluate(problem, problem.topology(),
                    make_plan(options, std::vector<Rank>(options.size(), 0)));
  };
  CHECK(judge({second, first}).valid());
  const Evaluation missing = judge({second});
  REQUIRE(missing.violations.size() == 1);
  CHECK(missing.violations[0].kind == Kind::kMissingTable);
  CHECK(missing.violations[0].message.find("\"t0\"") != std::string::npos);
  const Evaluation twice = judge({first, second, first});
  REQUIRE(twice.violations.size() == 1);
  CHECK(twice.violations[0].kind == Kind::kDuplicateTable);
  const Evaluation strange = judge({first, second, unknown, invalid});
  REQUIRE(strange.violations.size() == 2);
  CHECK(strange.violations[0].kind == Kind::kUnknownTable);
  CHECK(strange.violations[1].kind == Kind::kUnknownTable);
}

TEST_CASE("evaluate: reports options that are not placed") {
  OptionStore store;
  const Problem problem = make_problem(2, 4, 2);
  const std::vector<const ShardingOption*> options{
      &store.add_even(TableId(0), ShardingType::kTableWise, 1),
      &store.add_even(TableId(1), ShardingType::kRowWise, 4)};
  const Evaluation evaluation = evaluate(problem, problem.topology(), Plan::make(nullptr, options));
  REQUIRE(evaluation.violations.size() == 1);  // a uniform option needs no ranks in the plan
  CHECK(evaluation.violations[0].kind == Kind::kWrongShardCount);
}

TEST_CASE("evaluate: reports a wrong number of ranks, costs or shards") {
  OptionStore store;
  const Problem problem = make_problem(1, 4, 2);
  const ShardingOption good = store.add_even(TableId(0), ShardingType::kColumnWise, 2);
  const ShardingOption& halves = store.add_even(TableId(0), ShardingType::kColumnWise, 4);
  const auto kind_of = [&](const ShardingOption& option, const std::vector<Rank>& ranks) {
    const Evaluation evaluation =
        evaluate(problem, problem.topology(),
                 make_plan({&halves}, {0, 1, 2, 3}).with_option(0, option, ranks));
    return evaluation.violations.empty() ? std::vector<Kind>{}
                                         : std::vector<Kind>{evaluation.violations.front().kind};
  };
  CHECK(kind_of(good, {0, 1}) == kNone);
  ShardingOption more_costs = good;
  more_costs.costs.push_back(more_costs.costs[0]);
  CHECK(kind_of(more_costs, {0, 1}) == std::vector<Kind>{Kind::kWrongShardCount});
  ShardingOption no_costs = good;
  no_costs.costs.clear();
  CHECK(kind_of(no_costs, {0, 1}) == std::vector<Kind>{Kind::kWrongShardCount});
  ShardLayout layout = *good.layout;
  ++layout.num_shards;
  ShardingOption miscounted = good;
  miscounted.layout = &layout;
  CHECK(kind_of(miscounted, {0, 1, 2}) == std::vector<Kind>{Kind::kWrongShardCount});
}

TEST_CASE("evaluate: reports ranks that do not exist") {
  OptionStore store;
  const ShardingOption& option = store.add_even(TableId(0), ShardingType::kColumnWise, 2);
  CHECK(violations(option, {0, 7}) == kNone);
  CHECK(violations(option, {0, 8}) == std::vector<Kind>{Kind::kNoSuchRank});
}

TEST_CASE("evaluate: table-wise and column-wise shards may be anywhere") {
  OptionStore store;
  CHECK(violations(store.add_even(TableId(0), ShardingType::kTableWise, 1), {7}) == kNone);
  CHECK(violations(store.add_even(TableId(0), ShardingType::kColumnWise, 4), {7, 0, 0, 3}) ==
        kNone);
}

TEST_CASE("evaluate: row-wise and data-parallel shards are on all ranks in order") {
  OptionStore store;
  for (const ShardingType type : {ShardingType::kRowWise, ShardingType::kDataParallel}) {
    const ShardingOption& four = store.add_even(TableId(0), type, 4);
    CHECK(violations(four, {0, 1, 2, 3}, 4) == kNone);
    CHECK(violations(four, {0, 1, 3, 2}, 4) == std::vector<Kind>{Kind::kWrongPlacement});
    CHECK(violations(four, {0, 1, 2, 3}, 8) == std::vector<Kind>{Kind::kWrongPlacement});
  }
}

TEST_CASE("evaluate: table-column-wise shards are within one host") {
  OptionStore store;
  const ShardingOption& option = store.add_even(TableId(0), ShardingType::kTableColumnWise, 4);
  CHECK(violations(option, {3, 2, 2, 3}) == kNone);
  CHECK(violations(option, {3, 2, 2, 4}) == std::vector<Kind>{Kind::kWrongPlacement});
}

TEST_CASE("evaluate: table-row-wise shards are on the ranks of one host in order") {
  OptionStore store;
  const ShardingOption& option = store.add_even(TableId(0), ShardingType::kTableRowWise, 2);
  const std::vector<Kind> wrong{Kind::kWrongPlacement};
  CHECK(violations(option, {4, 5}) == kNone);
  CHECK(violations(option, {5, 4}) == wrong);
  CHECK(violations(option, {5, 6}) == wrong);
  CHECK(violations(option, {4, 4}) == wrong);
  const ShardingOption& three = store.add_even(TableId(0), ShardingType::kTableRowWise, 3);
  CHECK(violations(three, {4, 5, 4}) == wrong);
}

TEST_CASE("evaluate: host-wise shards are not on ranks that fill no host") {
  OptionStore store;
  const std::vector<Kind> wrong{Kind::kWrongPlacement};
  const ShardingOption& rows = store.add_even(TableId(0), ShardingType::kTableRowWise, 2);
  CHECK(violations(rows, {2, 3}, 5) == kNone);
  CHECK(violations(rows, {4, 5}, 6) == kNone);
  const ShardingOption& columns = store.add_even(TableId(0), ShardingType::kTableColumnWise, 1);
  CHECK(violations(columns, {3}, 5) == kNone);
  CHECK(violations(columns, {4}, 5) == wrong);
  const ShardingOption& both = store.add_even(TableId(0), ShardingType::kTableColumnWise, 2);
  CHECK(violations(both, {4, 4}, 5) == wrong);
  CHECK(violations(store.add_even(TableId(0), ShardingType::kTableWise, 1), {4}, 5) == kNone);
}

TEST_CASE("evaluate: grid shards fill whole hosts in order") {
  OptionStore store;
  const ShardingOption& option = store.add(TableId(0), ShardingType::kGridShard,
                                           {{12, 8, 0, 0, 12, 0, 2}, {12, 8, 0, 8, 12, 0, 2}},
                                           {cost_of(1, 0, 0, 10), cost_of(1, 0, 0, 10)});
  const std::vector<Kind> wrong{Kind::kWrongPlacement};
  CHECK(violations(option, {2, 3, 6, 7}) == kNone);
  CHECK(violations(option, {6, 7, 2, 3}) == kNone);
  CHECK(violations(option, {2, 3, 2, 3}) == kNone);  // two blocks may be on one host
  CHECK(violations(option, {2, 3, 7, 6}) == wrong);
  CHECK(violations(option, {2, 5, 6, 7}) == wrong);
}

TEST_CASE("evaluate: accepts cuts that tile the table") {
  CHECK(cut(ShardingType::kTableWise, {{24, 16, 0, 0, 0, 0, 1}}, {0}) == kNone);
  CHECK(cut(ShardingType::kColumnWise, {{24, 6, 0, 0, 0, 6, 2}, {24, 4, 0, 12, 0, 0, 1}},
            {0, 1, 2}) == kNone);
  // Empty shards may start anywhere, since they hold nothing.
  CHECK(cut(ShardingType::kRowWise,
            {{10, 16, 0, 0, 10, 0, 2}, {4, 16, 20, 0, 0, 0, 1}, {0, 16, 24, 0, 0, 0, 1}},
            {0, 1, 2, 3}) == kNone);
  // Shards may be in any order, as long as they cover the table.
  CHECK(cut(ShardingType::kColumnWise, {{24, 8, 0, 8, 0, 0, 1}, {24, 8, 0, 0, 0, 0, 1}}, {0, 1}) ==
        kNone);
  CHECK(cut(ShardingType::kDataParallel, {{24, 16, 0, 0, 0, 0, 4}}, {0, 1, 2, 3}) == kNone);
}

TEST_CASE("evaluate: reports cuts with a gap, an overlap or a wrong width") {
  const std::vector<Kind> wrong{Kind::kNotCovering};
  // Too few rows, too few columns, too many rows, too many columns.
  CHECK(cut(ShardingType::kTableWise, {{23, 16, 0, 0, 0, 0, 1}}, {0}) == wrong);
  CHECK(cut(ShardingType::kTableWise, {{24, 8, 0, 0, 0, 0, 1}}, {0}) == wrong);
  CHECK(cut(ShardingType::kTableWise, {{25, 16, 0, 0, 0, 0, 1}}, {0}) == wrong);
  CHECK(cut(ShardingType::kTableWise, {{24, 17, 0, 0, 0, 0, 1}}, {0}) == wrong);
  // The area is right, but the parts overlap or lie beyond the edge.
  CHECK(cut(ShardingType::kRowWise, {{6, 16, 0, 0, 0, 0, 4}}, {0, 1, 2, 3}) == wrong);
  CHECK(cut(ShardingType::kColumnWise, {{24, 8, 0, 0, 0, 0, 2}}, {0, 1}) == wrong);
  CHECK(cut(ShardingType::kRowWise, {{6, 16, 6, 0, 6, 0, 4}}, {0, 1, 2, 3}) == wrong);
  // The widths add up, but the parts leave a gap or overlap.
  CHECK(cut(ShardingType::kColumnWise, {{24, 8, 0, 0, 0, 0, 1}, {24, 8, 0, 10, 0, 0, 1}}, {0, 1}) ==
        wrong);
  CHECK(cut(ShardingType::kColumnWise, {{24, 8, 0, 0, 0, 0, 1}, {24, 8, 0, 6, 0, 0, 1}}, {0, 1}) ==
        wrong);
  // A shard without elements.
  CHECK(cut(ShardingType::kTableWise, {{0, 16, 0, 0, 0, 0, 1}}, {0}) == wrong);
  // One replica that is not whole, then replicas that are parts of the table.
  CHECK(cut(ShardingType::kDataParallel, {{24, 16, 0, 0, 0, 0, 3}, {23, 16, 0, 0, 0, 0, 1}},
            {0, 1, 2, 3}) == wrong);
  CHECK(cut(ShardingType::kDataParallel, {{6, 16, 0, 0, 6, 0, 4}}, {0, 1, 2, 3}) == wrong);
}

TEST_CASE("evaluate: rows of a quantised table may be wider than the embedding, never narrower") {
  OptionStore store;
  auto spec = problem_spec(1, 2, 2);
  const auto covers = [&](std::int64_t columns) {
    const Problem problem = Problem::make(spec).value();
    const ShardingOption& option =
        store.add(TableId(0), ShardingType::kTableWise, {{24, columns, 0, 0, 0, 0, 1}},
                  {cost_of(1, 0, 0, 10)});
    return evaluate(problem, problem.topology(), make_plan({&option}, {0})).valid();
  };
  CHECK_FALSE(covers(20));
  spec.sharder.type = SharderSpec::Type::kQuant;
  CHECK(covers(20));
  CHECK(covers(16));
  CHECK_FALSE(covers(12));
}

TEST_CASE("evaluate: reports ranks that need more memory than they have") {
  OptionStore store;
  const Problem problem = make_problem(1, 2, 2);
  ShardingOption option = store.add_even(TableId(0), ShardingType::kTableWise, 1, 1, 100);
  option.costs[0].storage.ddr = Bytes(10);
  const Plan plan = make_plan({&option}, {1});
  const auto judge = [&](Storage first, Storage second) {
    return evaluate(problem, problem.topology().with_storage({first, second}), plan).violations;
  };
  const Storage nothing;
  CHECK(judge(nothing, {Bytes(100), Bytes(10)}).empty());
  // A reservation may leave less than 0 bytes. A rank without shards is valid even then.
  CHECK(judge({Bytes(-5), Bytes(0)}, {Bytes(100), Bytes(10)}).empty());
  const auto hbm = judge(nothing, {Bytes(97), Bytes(10)});
  REQUIRE(hbm.size() == 1);
  CHECK(hbm[0].kind == Kind::kOutOfMemory);
  CHECK(hbm[0].message == "rank 1 needs 3 bytes more HBM than it has");
  const auto ddr = judge(nothing, {Bytes(100), Bytes(6)});
  REQUIRE(ddr.size() == 1);
  CHECK(ddr[0].message == "rank 1 needs 4 bytes more DDR than it has");
  option.costs[0].storage.ssd = Bytes(8);
  const auto ssd = judge(nothing, {Bytes(100), Bytes(10), Bytes(3)});
  REQUIRE(ssd.size() == 1);
  CHECK(ssd[0].message == "rank 1 needs 5 bytes more SSD than it has");
  CHECK(judge(nothing, {Bytes(100), Bytes(10), Bytes(8)}).empty());
}

TEST_CASE("evaluate: reports costs that are negative or not finite") {
  OptionStore store;
  const ShardingOption& good = store.add_even(TableId(0), ShardingType::kTableWise, 1);
  const auto with = [&](auto change) {
    ShardingOption option = good;
    change(option.costs[0]);
    return violations(option, {0});
  };
  const std::vector<Kind> bad{Kind::kBadCost};
  CHECK(with([](ShardCost&) {}) == kNone);
  CHECK(with([](ShardCost& c) { c.perf.fwd_compute = Milliseconds(std::nan("")); }) == bad);
  CHECK(with([](ShardCost& c) { c.perf.prefetch_compute = Milliseconds(HUGE_VAL); }) == bad);
  CHECK(with([](ShardCost& c) { c.perf.bwd_comms = Milliseconds(-3); }) == bad);
  // Although the sum is above 0.
  CHECK(with([](ShardCost& c) { c.perf.bwd_comms = Milliseconds(-0.5); }) == bad);
  CHECK(with([](ShardCost& c) { c.storage.hbm = Bytes(-1); }) == bad);
  CHECK(with([](ShardCost& c) { c.storage.ddr = Bytes(-1); }) == bad);
}

}  // namespace shardwright::evaluate_test
