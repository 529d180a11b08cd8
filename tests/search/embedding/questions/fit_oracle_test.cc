#include "search/embedding/questions/fit_oracle.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/embedding/questions/infeasible_reason.h"
#include "search/embedding/questions/remedies.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::fit_oracle_test {

namespace {

using namespace shardwright;
using embedding::Effort;
using embedding::find_irreducible_set;
using embedding::find_remedies;
using embedding::Fit;
using embedding::FitOracle;
using embedding::IrreducibleSet;
using embedding::ProblemSpec;
using embedding::Remedies;
using embedding::Remedy;
using embedding::TableId;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Tables of 4 GiB that cannot be split, on two ranks.
ProblemSpec whole_tables(std::size_t count, std::int64_t hbm_bytes) {
  ProblemSpec spec = test_support::problem_spec(count, 2, 2, 16'000'000, 64);
  spec.topology.hbm_cap_bytes = hbm_bytes;
  for (embedding::Table& table : spec.tables) {
    table.constraints.emplace();
    table.constraints->sharding_types = {embedding::ShardingType::kTableWise};
    table.constraints->compute_kernels = {embedding::ComputeKernel::kFused};
  }
  return spec;
}

// A planner that fits up to `fitting` tables, and that counts its calls.
struct CountingPlanner {
  std::size_t fitting = 0;
  int calls = 0;

  FitOracle oracle() {
    return FitOracle(
        [this](Effort, Fit& fit) {
          ++calls;
          if (fit.problem->tables().size() <= fitting) fit.answer = Fit::Answer::kFits;
        },
        false, {});
  }
};

}  // namespace

TEST_CASE("fit oracle: plans only if memory alone does not decide") {
  CountingPlanner planner{2};
  FitOracle oracle = planner.oracle();
  const Fit impossible = oracle.ask(whole_tables(8, 6 * kGiB), Effort::kFull);
  CHECK(impossible.impossible());
  CHECK(impossible.shortage.has_value());
  const Fit unknown = oracle.ask(whole_tables(2, 32 * kGiB), Effort::kProof);
  CHECK(unknown.answer == Fit::Answer::kNotFound);
  CHECK(planner.calls == 0);
  CHECK(oracle.ask(whole_tables(2, 32 * kGiB), Effort::kBrief).fits());
  CHECK(planner.calls == 1);
  CHECK(oracle.plannings() == 1);
}

TEST_CASE("fit oracle: an invalid problem is impossible, and says why") {
  CountingPlanner planner;
  FitOracle oracle = planner.oracle();
  ProblemSpec spec = whole_tables(1, kGiB);
  spec.topology.world_size = 0;
  const Fit fit = oracle.ask(std::move(spec), Effort::kFull);
  CHECK(fit.impossible());
  CHECK(fit.problem == nullptr);
  CHECK_FALSE(fit.why.empty());
}

TEST_CASE("irreducible set: keeps one table more than the planner can place") {
  for (const std::size_t fitting : {1U, 3U, 6U}) {
    CAPTURE(fitting);
    CountingPlanner planner{fitting};
    FitOracle oracle = planner.oracle();
    const Fit present = oracle.ask(whole_tables(8, 32 * kGiB), Effort::kProof);
    REQUIRE(present.search_space != nullptr);
    std::vector<TableId> all;
    for (std::size_t i = 0; i < 8; ++i)
      all.emplace_back(i);
    const IrreducibleSet set =
        find_irreducible_set(*present.problem, *present.search_space, all, oracle);
    CHECK(set.tables.size() == fitting + 1);
    CHECK(set.tested);
  }
}

TEST_CASE("remedies: the smallest memory is found by proof if packing does not matter") {
  // The planner always finds a plan, so only a proof can show that one step less is impossible.
  CountingPlanner planner{1000};
  FitOracle oracle = planner.oracle();
  const Fit present = oracle.ask(whole_tables(8, 8 * kGiB), Effort::kProof);
  REQUIRE(present.impossible());
  const Remedies found = find_remedies(present, true, present.shortage->tables, oracle);
  bool any_memory = false;
  for (const Remedy& remedy : found.remedies) {
    if (remedy.kind != Remedy::Kind::kHbm) continue;
    any_memory = true;
    CHECK(remedy.less_is_impossible);
    ProblemSpec less = whole_tables(8, static_cast<std::int64_t>(remedy.to - remedy.step));
    CHECK(oracle.ask(std::move(less), Effort::kProof).impossible());
  }
  CHECK(any_memory);
}

TEST_CASE("problem changes: the problem of some tables keeps the rest of the groups") {
  ProblemSpec spec = whole_tables(4, 32 * kGiB);
  spec.keep_together = {{{"t0", "t2"}, embedding::GroupScope::kRank},
                        {{"t1", "t3"}, embedding::GroupScope::kRank}};
  const std::vector<TableId> kept = {TableId(0), TableId(2), TableId(3)};
  const ProblemSpec narrow = only_tables(spec, kept);
  REQUIRE(narrow.tables.size() == 3);
  CHECK(narrow.tables[1].name == "t2");
  REQUIRE(narrow.keep_together.size() == 2);
  CHECK(narrow.keep_together[0].tables.size() == 2);
  CHECK(narrow.keep_together[1].tables == std::vector<std::string>{"t3"});
}

}  // namespace shardwright::fit_oracle_test
