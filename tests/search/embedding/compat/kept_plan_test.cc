// To keep a better plan, the search copies the changed assignments only, for any number of tables.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/compat/proposers.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::kept_plan_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

constexpr std::size_t kOptions = 40;

// The first table decides the rating. Each of its options takes more time in total than the one
// before, but less on the busiest rank, so every greedy proposal is better. The other tables share
// the other ranks and never move.
std::shared_ptr<const SearchSpace> improving_search(std::size_t tables) {
  ProblemSpec spec = problem_spec(tables, 8, 8);
  spec.topology.hbm_cap_bytes = std::int64_t{1} << 40;
  ProposerSpec by_total_time;
  by_total_time.use_depth = false;
  spec.proposers = {by_total_time};
  SpaceBuilder builder(spec);
  for (std::size_t i = 0; i < kOptions; ++i) {
    const auto step = static_cast<double>(i);
    builder.add_runs(0, ShardingType::kColumnWise,
                     {{1, 1000 - step, 10, 0}, {1, 500 + 1.5 * step, 10, 0}});
  }
  for (std::size_t table = 1; table < tables; ++table)
    builder.add(table, ShardingType::kTableWise, 1, 1e-6, 10);
  return builder.take();
}

// Passes on one proposal of `inner` at a time, so that the search evaluates each separately.
class OneAtATime final : public Proposer {
 public:
  explicit OneAtATime(std::unique_ptr<Proposer> inner) : inner_(std::move(inner)) {}

  std::size_t look_ahead() const override { return 1; }
  bool needs_feedback() const override { return inner_->needs_feedback(); }
  std::uint64_t proposals_at_most() const override { return inner_->proposals_at_most(); }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override {
    inner_->propose(limit, pool, batch);
  }

 private:
  std::unique_ptr<Proposer> inner_;
};

SearchParts one_at_a_time() {
  SearchParts parts;
  parts.proposers.push_back([](const OptionPool& pool, const Topology& available) {
    return std::make_unique<OneAtATime>(
        make_proposer(pool.problem().spec().proposers.front(), pool, available));
  });
  return parts;
}

struct Kept {
  std::uint64_t whole_bytes = 0;          // bytes allocated for the first plan
  std::vector<std::uint64_t> edit_bytes;  // bytes allocated for each plan from the third on
  PlanCopies copies;
};

// Runs the search and measures what it allocates for every better plan.
Kept keep_candidates(std::size_t tables) {
  const auto space = improving_search(tables);
  OptionPool pool(space);
  EmbeddingSearch search(pool, space->problem().topology(), 1, false, one_at_a_time());
  Kept kept;
  Budget budget;
  Plan before;
  for (std::size_t i = 0; i < kOptions; ++i) {
    REQUIRE(search.propose(0, budget) == 1);
    search.evaluate(0, 0, 0, 1, budget);
    const AllocationScope scope;
    search.synchronize(0, budget);
    const std::uint64_t bytes = scope.bytes();
    if (i == 0) kept.whole_bytes = bytes;
    // The second plan allocates the scratch memory of keep_best() as well.
    if (i >= 2) kept.edit_bytes.push_back(bytes);
    const Plan& now = *search.best_plan();
    if (i >= 2) {
      std::size_t shared = 0;
      for (std::size_t table = 0; table < tables; ++table)
        shared += now.ranks_identity(table) == before.ranks_identity(table) ? 1U : 0U;
      CHECK(shared == tables - 1);
      CHECK(now[0].option != before[0].option);
    }
    before = now;
  }
  kept.copies = search.copies();
  return kept;
}

}  // namespace

TEST_CASE(
    "kept plan: bytes per better candidate depend on its change, not on the number of tables") {
  constexpr std::uint64_t kNodeBytes = 8 * sizeof(Assignment) + 16;
  struct Case {
    std::size_t tables;
    std::uint64_t levels;
  };
  for (const Case each : {Case{100, 3}, Case{1000, 4}, Case{6400, 5}}) {
    CAPTURE(each.tables);
    const Kept kept = keep_candidates(each.tables);
    REQUIRE(kept.copies.plans == kOptions);
    REQUIRE(kept.edit_bytes.size() == kOptions - 2);
    for (const std::uint64_t bytes : kept.edit_bytes) {
      CHECK(bytes == kept.edit_bytes.front());
      // The nodes on one path, the ranks of two shards with their header, and the list of changes.
      CHECK(bytes <= each.levels * kNodeBytes + 16 + 32);
    }
    CHECK(kept.whole_bytes > each.tables * sizeof(Assignment));
    // The first two plans may copy all assignments. Each later one copies one.
    CHECK(kept.copies.assignments_copied <= 2 * each.tables + kOptions - 2);
    CHECK(kept.copies.assignments_copied + kept.copies.assignments_shared ==
          kOptions * each.tables);
  }
}

}  // namespace shardwright::kept_plan_test
