// Placement constraints in the evaluator: one violating plan for each kind of constraint, and ranks
// with measured factors.
#include "core/embedding/evaluate.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::constraint_violations_test {

namespace {

using namespace shardwright::embedding;
using shardwright::Bytes;
using shardwright::test_support::OptionStore;
using shardwright::test_support::problem_spec;
using Kind = Violation::Kind;

// Returns the violations of a plan on 3 hosts of 2 ranks. `ranks` has two ranks for t0
// (column-wise) and one for t1 (table-wise).
template <class Change>
std::vector<std::string> broken(const Change& change, const std::vector<Rank>& ranks) {
  ProblemSpec spec = problem_spec(2, 6, 2);
  change(spec);
  const auto problem = Problem::make(std::move(spec));
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  OptionStore store;
  const std::vector<const ShardingOption*> options{
      &store.add_even(TableId(0), ShardingType::kColumnWise, 2),
      &store.add_even(TableId(1), ShardingType::kTableWise, 1)};
  const Evaluation evaluation =
      evaluate(*problem, problem->topology(), Plan::make(nullptr, options, ranks));
  std::vector<std::string> messages;
  for (const Violation& violation : evaluation.violations) {
    CHECK(violation.kind == Kind::kPlacementConstraint);
    messages.push_back(violation.message);
  }
  return messages;
}

bool says(const std::vector<std::string>& messages, const std::string& text) {
  return messages.size() == 1 && messages[0].find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("constraint violations: ranks, hosts and ranks of a shard") {
  const auto ranks = [](ProblemSpec& spec) { spec.tables[0].placement.ranks = {1, 4}; };
  CHECK(broken(ranks, {1, 4, 0}).empty());
  CHECK(says(broken(ranks, {1, 3, 0}), "shard 1 of table \"t0\" is on rank 3"));
  CHECK(says(broken(ranks, {0, 3, 0}),
             "/constraints/t0/ranks does not allow; further shards that violate it: 1"));
  const auto hosts = [](ProblemSpec& spec) { spec.tables[1].placement.hosts = {2}; };
  CHECK(broken(hosts, {1, 4, 5}).empty());
  CHECK(says(broken(hosts, {1, 4, 3}), "/constraints/t1/hosts"));
  const auto shard = [](ProblemSpec& spec) {
    spec.tables[0].placement.shard_ranks = {{1, {2}}, {5, {0}}};
  };
  CHECK(broken(shard, {5, 2, 5}).empty());
  CHECK(says(broken(shard, {2, 5, 5}), "shard 1 of table \"t0\" is on rank 5"));
}

TEST_CASE("constraint violations: number of shards and distinct ranks") {
  const auto one = [](ProblemSpec& spec) { spec.tables[0].placement.max_shards = 1; };
  CHECK(says(broken(one, {0, 1, 2}), "has 2 shards"));
  CHECK(broken([](ProblemSpec& spec) { spec.tables[0].placement.max_shards = 2; }, {0, 0, 0})
            .empty());
  const auto distinct = [](ProblemSpec& spec) { spec.tables[0].placement.distinct_ranks = true; };
  CHECK(broken(distinct, {3, 4, 4}).empty());
  CHECK(says(broken(distinct, {3, 3, 4}), "on rank 3, and so is shard 0"));
}

TEST_CASE("constraint violations: tables kept together and apart") {
  const auto group = [](bool together, GroupScope on) {
    return [together, on](ProblemSpec& spec) {
      (together ? spec.keep_together : spec.keep_apart) = {{{"t1", "t0"}, on}};
    };
  };
  using enum GroupScope;
  CHECK(broken(group(true, kRank), {3, 3, 3}).empty());
  CHECK(says(broken(group(true, kRank), {3, 2, 3}), "/keep_together/0 requires rank 3"));
  CHECK(says(broken(group(true, kRank), {3, 3, 2}), "shard 0 of table \"t0\" is on rank 3"));
  CHECK(broken(group(true, kHost), {3, 2, 3}).empty());
  CHECK(says(broken(group(true, kHost), {3, 4, 3}), "shard 1 of table \"t0\" is on rank 4"));
  CHECK(broken(group(false, kRank), {3, 3, 2}).empty());
  CHECK(says(broken(group(false, kRank), {3, 2, 2}), "/keep_apart/0"));
  CHECK(broken(group(false, kHost), {3, 5, 1}).empty());
  CHECK(says(broken(group(false, kHost), {3, 5, 4}), "holds shards of table \"t1\""));
}

TEST_CASE("constraint violations: the measured factor of a rank multiplies its times") {
  ProblemSpec spec = problem_spec(1, 2, 2);
  spec.calibration.rank_time = {1, 3};
  const Problem problem = *Problem::make(spec);
  OptionStore store;
  const ShardingOption* const option =
      &store.add_even(TableId(0), ShardingType::kColumnWise, 2, 0.1);
  const Evaluation evaluation = evaluate(
      problem, problem.topology(), Plan::make(nullptr, {&option, 1}, std::vector<Rank>{0, 1}));
  CHECK(evaluation.perf_ms_by_rank == std::vector<double>{0.1, 0.1 * 3});
  CHECK(evaluation.perf_parts_by_rank[1].fwd_compute.value() == 0.1 * 3);
  CHECK(evaluation.rating == 0.1 * 3);
}

}  // namespace shardwright::constraint_violations_test
