#include "runtime/embedding/replan.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/replan_front.h"
#include "search/embedding/questions/old_plan.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::replan_test {

namespace {

using namespace shardwright;
using embedding::Assignment;
using embedding::ComputeKernel;
using embedding::OldPlan;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::ProposerSpec;
using embedding::ShardingType;
using embedding::TableId;
using test_support::problem_spec;

constexpr std::int64_t kRows = 4'000'000;
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kTableBytes = kRows * kColumns * 4;

std::shared_ptr<const Problem> make(ProblemSpec spec) {
  return std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
}

ProblemSpec tables(std::size_t count, std::int64_t ranks) {
  return problem_spec(count, ranks, ranks, kRows, kColumns);
}

ReplanOptions weighing(double weight) {
  ReplanOptions options;
  options.plan.threads = 2;
  options.plan.work_limit = 400'000;
  options.migration_weight = weight;
  return options;
}

std::vector<PlanEntry> planned(const std::shared_ptr<const Problem>& problem) {
  const auto result = plan_embedding(problem, weighing(0).plan);
  REQUIRE(result.ok());
  REQUIRE(result->plan.has_value());
  return embedding::entries_of(*problem, *result->plan);
}

PlanEntry entry(const std::string& table, ShardingType type, std::vector<std::int64_t> ranks) {
  PlanEntry entry;
  entry.table = table;
  entry.sharding_type = type;
  entry.ranks = std::move(ranks);
  return entry;
}

// Returns the bytes that move if a single table goes from one place to another.
std::int64_t bytes_to_move(const PlanEntry& from, const PlanEntry& to, std::int64_t ranks) {
  const auto problem = make(tables(1, ranks));
  const auto space = enumerate_embedding(problem).value();
  const OldPlan old = OldPlan::make(space, {from}).value();
  const OldPlan target = OldPlan::make(space, {to}).value();
  REQUIRE(target.assignment(TableId(0)).option != nullptr);
  return old.bytes_to_move(target.assignment(TableId(0)));
}

}  // namespace

TEST_CASE("old plan: bytes to move are those that the ranks of the new shards do not hold yet") {
  const PlanEntry on_0 = entry("t0", ShardingType::kTableWise, {0});
  const PlanEntry by_rows = entry("t0", ShardingType::kRowWise, {0, 1, 2, 3});
  CHECK(bytes_to_move(on_0, on_0, 4) == 0);
  CHECK(bytes_to_move(on_0, entry("t0", ShardingType::kTableWise, {3}), 4) == kTableBytes);
  CHECK(bytes_to_move(on_0, by_rows, 4) == kTableBytes / 4 * 3);
  CHECK(bytes_to_move(by_rows, on_0, 4) == kTableBytes / 4 * 3);
}

TEST_CASE("old plan: a cut over more ranks than exist is known from its number of shards") {
  // Ranks 0 to 3 keep the first four of eight row blocks. Then rank 0 holds half of its new
  // quarter, and the other ranks hold nothing of theirs.
  const PlanEntry eight = entry("t0", ShardingType::kRowWise, {0, 1, 2, 3, 4, 5, 6, 7});
  const PlanEntry four = entry("t0", ShardingType::kRowWise, {0, 1, 2, 3});
  CHECK(bytes_to_move(eight, four, 4) == kTableBytes / 8 * 7);
}

TEST_CASE("old plan: places that no longer exist are dropped") {
  const auto problem = make(tables(3, 4));
  const auto space = enumerate_embedding(problem).value();
  const OldPlan old = OldPlan::make(space, {entry("t0", ShardingType::kTableWise, {4}),
                                            entry("t1", ShardingType::kRowWise, {0, 1}),
                                            entry("gone", ShardingType::kTableWise, {0})})
                          .value();
  CHECK(old.place(TableId(0)) != nullptr);
  CHECK(old.assignment(TableId(0)).option == nullptr);
  CHECK(old.place(TableId(1)) != nullptr);
  CHECK(old.assignment(TableId(1)).option == nullptr);
  CHECK(old.place(TableId(2)) == nullptr);
  CHECK(old.dropped() == std::vector<std::string>{"gone"});
}

TEST_CASE("old plan: a kernel that the constraints exclude exists only if caches are scaled up") {
  ProblemSpec spec = tables(1, 2);
  spec.tables[0].constraints.emplace().compute_kernels = {ComputeKernel::kFusedUvmCaching};
  const PlanEntry fused = entry("t0", ShardingType::kTableWise, {0});
  const auto is_found = [&] {
    const auto space = enumerate_embedding(make(spec)).value();
    return OldPlan::make(space, {fused}).value().assignment(TableId(0)).option != nullptr;
  };
  CHECK_FALSE(is_found());
  ProposerSpec scaleup;
  scaleup.type = ProposerSpec::Type::kScaleup;
  spec.proposers = {scaleup};
  CHECK(is_found());
}

TEST_CASE("old plan: a table that occurs twice is an error with its place") {
  const auto problem = make(tables(1, 2));
  const auto space = enumerate_embedding(problem).value();
  const PlanEntry one = entry("t0", ShardingType::kTableWise, {0});
  const auto old = OldPlan::make(space, {one, one});
  REQUIRE_FALSE(old.ok());
  CHECK(old.error().where == "/plan/1");
}

TEST_CASE("replan: if nothing changed, nothing moves") {
  const auto problem = make(tables(10, 4));
  const auto result = replan_embedding(problem, planned(problem), weighing(0));
  REQUIRE(result.ok());
  REQUIRE(result->migration.has_value());
  CHECK(result->migration->moves.empty());
  CHECK(result->migration->tables_kept == 10);
  CHECK(result->migration->moved_bytes == 0);
  CHECK(result->migration->rating_before == result->best_rating);
}

TEST_CASE(
    "replan: a new table is placed, a removed one dropped, and a weight keeps the others in "
    "place") {
  const auto before = make(tables(9, 4));
  const std::vector<PlanEntry> old = planned(before);
  ProblemSpec spec = tables(10, 4);
  spec.tables.erase(spec.tables.begin());
  const auto result = replan_embedding(make(std::move(spec)), old, weighing(1e6));
  REQUIRE(result.ok());
  REQUIRE(result->plan.has_value());
  CHECK(result->evaluation.valid());
  const Migration& migration = *result->migration;
  CHECK(migration.dropped == std::vector<std::string>{"ebc.t0"});
  REQUIRE(migration.moves.size() == 1);
  CHECK_FALSE(migration.moves[0].from.has_value());
  CHECK(migration.moved_bytes == 0);
  CHECK(migration.placed_bytes >= kTableBytes);
}

TEST_CASE("replan: with half the ranks every table gets a new place") {
  const std::vector<PlanEntry> old = planned(make(tables(10, 8)));
  for (const double weight : {0.0, 0.1, 1e6}) {
    CAPTURE(weight);
    const auto result = replan_embedding(make(tables(10, 4)), old, weighing(weight));
    REQUIRE(result.ok());
    REQUIRE(result->plan.has_value());
    CHECK(result->evaluation.valid());
    CHECK(result->migration->tables_kept + result->migration->moves.size() == 10);
    CHECK(result->migration->moved_bytes > 0);
    CHECK_FALSE(result->migration->rating_before.has_value());
    CHECK_FALSE(result->migration->not_kept.empty());
  }
}

TEST_CASE("replan: a large weight keeps a bad plan that fits, no weight improves it") {
  const auto problem = make(tables(8, 4));
  std::vector<PlanEntry> crowded;
  for (int i = 0; i < 8; ++i)
    crowded.push_back(entry("t" + std::to_string(i), ShardingType::kTableWise, {0}));
  const auto kept = replan_embedding(problem, crowded, weighing(1e9));
  const auto improved = replan_embedding(problem, crowded, weighing(0));
  REQUIRE(kept.ok());
  REQUIRE(improved.ok());
  CHECK(kept->migration->moves.empty());
  CHECK(kept->best_rating == kept->migration->rating_before);
  CHECK(*improved->best_rating < 0.5 * *kept->best_rating);
  CHECK(improved->migration->moved_bytes > 0);
}

TEST_CASE("replan: a weight trades rating for bytes") {
  const auto problem = make(tables(12, 4));
  std::vector<PlanEntry> uneven;
  for (int i = 0; i < 12; ++i)
    uneven.push_back(entry("t" + std::to_string(i), ShardingType::kTableWise, {i < 8 ? 0 : i % 4}));
  double last_rating = 0;
  std::int64_t last_moved = std::numeric_limits<std::int64_t>::max();
  for (const double weight : {0.0, 0.01, 1.0, 1e9}) {
    CAPTURE(weight);
    const auto result = replan_embedding(problem, uneven, weighing(weight));
    REQUIRE(result.ok());
    const double gib = static_cast<double>(result->migration->moved_bytes) / (1 << 30);
    CHECK(*result->best_rating + weight * gib <=
          *result->migration->rating_before * (1 + kProvenGap));
    CHECK(*result->best_rating >= last_rating * (1 - kProvenGap));
    CHECK(result->migration->moved_bytes <= last_moved);
    last_rating = *result->best_rating;
    last_moved = result->migration->moved_bytes;
  }
  CHECK(last_moved == 0);
}

TEST_CASE("replan: a table changes without moving bytes only if that lowers the rating") {
  ProblemSpec spec = tables(24, 8);
  const std::vector<PlanEntry> old = planned(make(spec));
  for (std::size_t i = 0; i < 3; ++i)
    spec.tables[i].num_embeddings *= 3;
  const auto problem = make(spec);
  for (const double weight : {0.0, 0.001}) {
    CAPTURE(weight);
    const EmbeddingPlanResult result = replan_embedding(problem, old, weighing(weight)).value();
    const OldPlan matched = OldPlan::make(result.search_space, old).value();
    for (std::size_t i = 0; i < result.plan->size(); ++i) {
      const Assignment& now = (*result.plan)[i];
      const Assignment& before = matched.assignment(now.option->table);
      if (matched.is_kept(now) || matched.bytes_to_move(now) > 0 || before.option == nullptr)
        continue;
      embedding::PlanCopies copies;
      embedding::PlanEdit edit(*result.plan);
      edit.set(i, before);
      const embedding::Evaluation undone =
          embedding::evaluate(*problem, result.reservation->topology, edit.publish(copies));
      CHECK((!undone.valid() || undone.rating > *result.best_rating));
    }
  }
}

TEST_CASE(
    "replan on a front: the answer and every line keep within the bytes, and none beats another") {
  ProblemSpec spec = tables(24, 8);
  const std::vector<PlanEntry> old = planned(make(spec));
  spec.tables[0].num_embeddings *= 5;
  spec.tables[7].num_embeddings *= 4;
  const auto problem = make(spec);
  for (const std::int64_t most : {std::int64_t{0}, 2 * kTableBytes, 100 * kTableBytes}) {
    CAPTURE(most);
    const auto result = replan_on_front(problem, old, weighing(0), most);
    if (!result.ok()) {
      CHECK(result.error().where == "max_move");
      continue;
    }
    CHECK(result->migration->moved_bytes <= most);
    CHECK(result->front_bytes == most);
    CHECK(*result->front_bound <= *result->best_rating);
    for (std::size_t i = 1; i < result->front.size(); ++i) {
      CHECK(result->front[i].moved_bytes > result->front[i - 1].moved_bytes);
      CHECK(result->front[i].rating < result->front[i - 1].rating);
    }
  }
}

TEST_CASE("replan: invalid weights are refused") {
  const auto problem = make(tables(1, 2));
  for (const double weight : {-1.0, std::nan("")}) {
    const auto result = replan_embedding(problem, {}, weighing(weight));
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().where == "migration_weight");
  }
}

TEST_CASE("replan: pinned tables leave old places that are not allowed") {
  ProblemSpec spec = tables(2, 4);
  spec.tables[0].placement.ranks = {2};
  const auto result = replan_embedding(
      make(std::move(spec)),
      {entry("t0", ShardingType::kTableWise, {0}), entry("t1", ShardingType::kTableWise, {1})},
      weighing(1e6));
  REQUIRE(result.ok());
  REQUIRE(result->plan.has_value());
  CHECK(result->evaluation.valid());
  REQUIRE(result->migration->moves.size() == 1);
  CHECK(result->migration->moves[0].table == TableId(0));
  CHECK(result->migration->moves[0].to.ranks == std::vector<std::int64_t>{2});
}

}  // namespace shardwright::replan_test
