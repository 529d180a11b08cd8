// What planning and replanning copy when they publish a plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/questions/old_plan.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::plan_copies_test {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::problem_spec;
using test_support::SpaceBuilder;

namespace {

constexpr int kThreads[] = {1, 2, 4};
constexpr std::size_t kSteps = 20;
constexpr std::int64_t kRanks = 8;

PlanCopies without(PlanCopies copies, const PlanCopies& less) {
  copies.plans -= less.plans;
  copies.assignments_shared -= less.assignments_shared;
  copies.assignments_copied -= less.assignments_copied;
  copies.rank_bytes_copied -= less.rank_bytes_copied;
  copies.nodes_copied -= less.nodes_copied;
  copies.options_added -= less.options_added;
  return copies;
}

// Makes one proposal at a time. Proposal n has option n of the first `changing` tables and the only
// option of every other table.
class Steps final : public Proposer {
 public:
  Steps(const OptionPool& pool, std::size_t changing, std::size_t steps)
      : tables_(pool.tables()), changing_(changing), steps_(steps) {}

  std::size_t look_ahead() const override { return 1; }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return steps_; }
  void propose(std::size_t, OptionPool&, ProposalBatch& batch) override {
    if (next_ == steps_) return;
    std::vector<OptionId> options;
    for (std::size_t i = 0; i < tables_.size(); ++i)
      options.push_back(tables_[i].options[i < changing_ ? next_ : 0]);
    batch.push_full(options);
    ++next_;
  }

 private:
  std::vector<OptionPool::TableOptions> tables_;
  std::size_t changing_;
  std::size_t steps_;
  std::size_t next_ = 0;
};

// The first `changing` tables have two shards each, which decide the rating. Every proposal of
// Steps is better than the one before. All other tables stay on the other ranks.
std::shared_ptr<const SearchSpace> improving_space(std::size_t tables, std::size_t changing) {
  ProblemSpec spec = problem_spec(tables, kRanks, kRanks);
  spec.topology.hbm_cap_bytes = std::int64_t{1} << 40;
  SpaceBuilder builder(spec);
  for (std::size_t table = 0; table < changing; ++table) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      const auto less = static_cast<double>(step);
      builder.add_runs(table, ShardingType::kColumnWise,
                       {{1, 1000 - less, 10, 0}, {1, 500 + less, 10, 0}});
    }
  }
  for (std::size_t table = changing; table < tables; ++table)
    builder.add(table, ShardingType::kTableWise, 1, 1e-6, 10);
  return builder.take();
}

// Returns what compat mode copies while it keeps `steps` better plans.
PlanCopies copies_of_steps(std::size_t tables, std::size_t changing, std::size_t steps,
                           int threads) {
  const auto space = improving_space(tables, changing);
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.threads = threads;
  SearchParts parts;
  parts.proposers.push_back([=](const OptionPool& pool, const Topology&) {
    return std::make_unique<Steps>(pool, changing, steps);
  });
  options.parts = std::make_shared<const SearchParts>(std::move(parts));
  const auto result = plan_embedding(space->shared_problem(), options, space);
  REQUIRE(result.ok());
  REQUIRE(result->plan.has_value());
  CHECK(result->work.plans.plans == steps);
  return result->work.plans;
}

std::shared_ptr<const Problem> even_problem(std::size_t tables) {
  return std::make_shared<const Problem>(
      Problem::make(problem_spec(tables, kRanks, kRanks, 400'000, 64)).value());
}

std::shared_ptr<const Problem> uneven_problem(std::size_t tables) {
  ProblemSpec spec = problem_spec(tables, kRanks, kRanks);
  for (std::size_t i = 0; i < tables; ++i) {
    spec.tables[i].num_embeddings = 100'000 + static_cast<std::int64_t>(i * 37'919 % 400'000);
    spec.tables[i].embedding_dim = 32 << (i * 7 % 3);
    spec.tables[i].constraints.emplace().pooling_factors = {1.0 + static_cast<double>(i * 13 % 11)};
  }
  return std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
}

PlanOptions best_within(std::uint64_t work, int threads) {
  PlanOptions options;
  options.threads = threads;
  options.work_limit = work;
  return options;
}

EmbeddingPlanResult planned(const std::shared_ptr<const SearchSpace>& space,
                            const PlanOptions& options) {
  auto result = plan_embedding(space->shared_problem(), options, space);
  REQUIRE(result.ok());
  REQUIRE(result->plan.has_value());
  return std::move(result).value();
}

bool same_content(const Assignment& a, const Assignment& b) {
  if (a.option != b.option) return false;
  for (std::uint32_t shard = 0; shard < a.option->num_shards(); ++shard) {
    if (a.rank(shard) != b.rank(shard)) return false;
  }
  return true;
}

bool same_order(const Plan& a, const Plan& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].option->table != b[i].option->table) return false;
  }
  return true;
}

// Returns the number of tables whose assignments differ.
std::size_t num_different(const Plan& a, const Plan& b) {
  std::vector<const Assignment*> by_table(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    by_table[a[i].option->table.index()] = &a[i];
  std::size_t different = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    different += same_content(*by_table[b[i].option->table.index()], b[i]) ? 0U : 1U;
  return different;
}

// Checks that the plans share all assignments that are equal in both.
void check_sharing(const Plan& before, const Plan& after) {
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (same_content(before[i], after[i]))
      CHECK(before.ranks_identity(i) == after.ranks_identity(i));
  }
}

// Returns the entries of a plan file, with the first `moved` tables one rank further.
std::vector<PlanEntry> entries_of(const Problem& problem, const Plan& plan, std::size_t moved) {
  std::vector<PlanEntry> entries;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const TablePlace place = place_of(plan[i]);
    PlanEntry entry;
    entry.table = problem.table(plan[i].option->table).name;
    entry.module = problem.table(plan[i].option->table).module;
    entry.sharding_type = place.sharding_type;
    entry.compute_kernel = place.compute_kernel;
    entry.load_factor = place.load_factor;
    entry.ranks = place.ranks;
    const bool may_move = plan[i].option->partition_by() == PartitionBy::kDevice;
    if (may_move && moved > 0) {
      --moved;
      for (std::int64_t& rank : entry.ranks)
        rank = (rank + 1) % kRanks;
    }
    entries.push_back(std::move(entry));
  }
  REQUIRE(moved == 0);
  return entries;
}

struct ReplanCopies {
  PlanCopies copies;  // without those of planning
  std::size_t moves = 0;
};

// Returns the copies of a replan in which `moved` tables have to move back.
ReplanCopies copies_of_replan(std::size_t tables, std::size_t moved, int threads) {
  const auto problem = even_problem(tables);
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.threads = threads;
  const auto space = enumerate_embedding(problem).value();
  const EmbeddingPlanResult alone = planned(space, options);
  const auto result = replan_embedding(problem, entries_of(*problem, *alone.plan, moved),
                                       {options, 0, std::nullopt}, space);
  REQUIRE(result.ok());
  REQUIRE(result->plan.has_value());
  return {without(result->work.plans, alone.work.plans), result->migration->moves.size()};
}

}  // namespace

TEST_CASE("plan copies: a kept candidate copies what changed, whatever the number of tables") {
  struct Case {
    std::size_t tables;
    std::uint64_t levels;  // levels of the plan's tree
  };
  for (const Case each : {Case{100, 3}, Case{1000, 4}, Case{6400, 5}}) {
    for (const std::size_t changing : {std::size_t{1}, std::size_t{3}}) {
      CAPTURE(each.tables);
      CAPTURE(changing);
      const PlanCopies whole = copies_of_steps(each.tables, changing, 1, 1);
      const PlanCopies all = copies_of_steps(each.tables, changing, kSteps, 1);
      CHECK(whole.assignments_copied == each.tables);
      const PlanCopies edits = without(all, whole);
      CHECK(edits.assignments_copied == edits.plans * changing);
      CHECK(edits.assignments_shared == edits.plans * (each.tables - changing));
      CHECK(edits.rank_bytes_copied == edits.plans * changing * 2 * sizeof(Rank));
      CHECK(edits.nodes_copied == edits.plans * each.levels);
    }
  }
}

TEST_CASE("plan copies: compat mode copies the same on any number of threads") {
  const PlanCopies expected = copies_of_steps(300, 2, kSteps, 1);
  for (const int threads : kThreads)
    CHECK(copies_of_steps(300, 2, kSteps, threads) == expected);
}

TEST_CASE("plan copies: best mode copies the assignments in which its plans differ") {
  constexpr std::size_t kTables = 120;
  const auto space = enumerate_embedding(uneven_problem(kTables)).value();
  PlanOptions compat;
  compat.mode = PlanMode::kCompat;
  const EmbeddingPlanResult start = planned(space, compat);
  std::optional<PlanCopies> expected;
  for (const int threads : kThreads) {
    CAPTURE(threads);
    std::vector<Plan> plans;
    PlanOptions options = best_within(4'000'000, threads);
    options.on_better_plan = [&](const Plan& plan) { plans.push_back(plan); };
    const PlanCopies all = planned(space, options).work.plans;
    if (!expected) expected = all;
    CHECK(all == *expected);
    REQUIRE(plans.size() >= 2);
    std::size_t different = num_different(*start.plan, plans.front());
    for (std::size_t i = 1; i < plans.size(); ++i) {
      check_sharing(plans[i - 1], plans[i]);
      different += num_different(plans[i - 1], plans[i]);
    }
    // Compat mode's plan is published first. It is copied whole if its tables are in another order.
    const std::size_t taken_over = same_order(*start.plan, plans.front()) ? 0 : kTables;
    const PlanCopies own = without(all, start.work.plans);
    REQUIRE(own.plans > plans.size());
    CHECK(own.assignments_copied + own.assignments_shared == own.plans * kTables);
    CHECK(own.assignments_copied >= taken_over + different);
    // Plans of equal rating and less peak memory are published, but not passed to on_better_plan.
    const std::size_t unseen = own.plans - plans.size() - 1;
    CHECK(own.assignments_copied <= taken_over + different + unseen * kTables);
  }
}

TEST_CASE("plan copies: replan copies the assignments that its plans change") {
  for (const std::size_t moved : {std::size_t{2}, std::size_t{12}}) {
    for (const std::size_t tables : {std::size_t{60}, std::size_t{240}}) {
      CAPTURE(tables);
      CAPTURE(moved);
      const auto [copies, moves] = copies_of_replan(tables, moved, 1);
      // The search may also change tables whose cost stays the same. The answer does not.
      CHECK(moves <= 2 * moved);
      const std::uint64_t most = tables / 4;
      // The old plan is made whole, with one shard per table. All later plans are edits.
      const std::uint64_t edits = copies.plans - 1;
      REQUIRE(edits > 0);
      CHECK(copies.assignments_copied + copies.assignments_shared == copies.plans * tables);
      CHECK(copies.assignments_copied - tables >= moved);
      CHECK(copies.assignments_copied - tables <= edits * most);
      CHECK(copies.rank_bytes_copied - tables * sizeof(Rank) <= edits * most * sizeof(Rank));
    }
  }
}

TEST_CASE("plan copies: replan copies the same on any number of threads") {
  const PlanCopies expected = copies_of_replan(60, 12, 1).copies;
  for (const int threads : kThreads)
    CHECK(copies_of_replan(60, 12, threads).copies == expected);
}

}  // namespace shardwright::plan_copies_test
