// Branch and bound over a few tables: compared with all allocations, and without moving the other
// tables.
#include "search/embedding/best/exact/branch_and_bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/support/embedding/naive/naive_allocation.h"
#include "tests/support/embedding/small_models.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"

namespace shardwright::branch_and_bound_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kPlenty = 100'000'000;

std::vector<Rank> all_ranks(const Model& model) {
  std::vector<Rank> ranks(model.choices.world_size());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  return ranks;
}

std::vector<FreeItem> all_tables(const Model& model) {
  std::vector<FreeItem> items;
  for (std::uint32_t table = 0; table < model.choices.num_tables(); ++table)
    items.push_back({table, FreeItem::kWholeTable});
  return items;
}

// Solves the whole model from an empty allocation.
SubproblemAnswer solve_all(const Model& model, AllocationState& loads, BranchAndBound& search,
                           double below) {
  const std::vector<Rank> window = all_ranks(model);
  const std::vector<FreeItem> items = all_tables(model);
  loads.clear();
  return search.solve({items, window, below, below, kPlenty});
}

// Returns true if the model has an allocation.
bool check_solved(const Model& model) {
  const std::optional<double> least = least_rating(model.choices);
  AllocationState loads(model.context);
  BranchAndBound search(loads);
  const SubproblemAnswer answer = solve_all(model, loads, search, kNone);
  CHECK(answer.complete);
  REQUIRE(answer.better == least.has_value());
  if (!least) return false;
  loads.recompute();
  CHECK(loads.all_good());
  CHECK(loads.max_load() <= *least * (1 + 1e-10));
  CHECK(loads.max_load() >= *least * (1 - 1e-10));
  const SubproblemAnswer again = solve_all(model, loads, search, *least);
  CHECK(again.complete);
  CHECK_FALSE(again.better);
  return true;
}

Allocation allocation_of(const AllocationState& loads) {
  const std::size_t tables = loads.model().num_tables();
  Allocation made;
  made.choice.resize(tables);
  made.ranks.resize(tables);
  for (std::size_t table = 0; table < tables; ++table)
    loads.copy_table(table, made);
  return made;
}

// Single-shard tables of random cost, all on the first rank.
Model crowded(Random& random, std::size_t tables, std::int64_t ranks, std::int64_t hbm) {
  SpaceBuilder builder(spec_of(tables, ranks, ranks, hbm));
  for (std::size_t table = 0; table < tables; ++table) {
    builder.add(table, kTableWise, 1, static_cast<double>(1 + random.below(1000)),
                1 + static_cast<std::int64_t>(random.below(15)));
  }
  return Model(builder.take());
}

}  // namespace

TEST_CASE("exact: whole models have the same optimum as trying every allocation") {
  int feasible = 0;
  int infeasible = 0;
  for (const std::uint64_t seed : seeds({31, 32, 33})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 400; ++i) {
      INFO("model ", i);
      ++(check_solved(Model(small_space(random))) ? feasible : infeasible);
    }
  }
  CHECK(feasible > 400);
  CHECK(infeasible > 100);
}

TEST_CASE("exact: so do models with rules and rank times") {
  int feasible = 0;
  int infeasible = 0;
  for (const std::uint64_t seed : seeds({34, 35})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 300; ++i) {
      INFO("model ", i);
      ProblemSpec spec = small_ruled_spec(random);
      if (!Problem::make(spec).ok()) continue;
      const Model model(small_ruled_space(random, std::move(spec)));
      if (model.choices.status().ok()) ++(check_solved(model) ? feasible : infeasible);
    }
  }
  CHECK(feasible > 150);
  CHECK(infeasible > 10);
}

TEST_CASE("exact: tables outside the subproblem are not moved") {
  Random random(36);
  int improved = 0;
  for (int i = 0; i < 1000; ++i) {
    INFO("model ", i);
    const Model model(small_space(random));
    AllocationState loads(model.context);
    BranchAndBound search(loads);
    // With little work: the first allocation that fits, not the best.
    const std::vector<Rank> window = all_ranks(model);
    std::vector<FreeItem> items = all_tables(model);
    loads.clear();
    if (!search.solve({items, window, kNone, kNone, 30}).better) continue;
    const double before = loads.max_load();
    const Allocation start = allocation_of(loads);
    const auto kept = static_cast<std::uint32_t>(random.below(items.size()));
    items.erase(items.begin() + kept);
    const Subproblem question{items, window, before, before, kPlenty};
    const SubproblemAnswer answer = search.solve(question);
    CHECK(answer.complete);
    const Allocation now = allocation_of(loads);
    CHECK(now.choice[kept] == start.choice[kept]);
    CHECK(now.ranks[kept] == start.ranks[kept]);
    CHECK(loads.all_good());
    improved += answer.better ? 1 : 0;
    const double rating = loads.max_load();
    CHECK((answer.better ? rating < before : rating == before));
    if (rating <= 0) continue;
    const SubproblemAnswer again =
        search.solve({items, window, rating * (1 - 1e-9), rating, kPlenty});
    CHECK_FALSE(again.better);
    CHECK(loads.num_tentative() == 0);
    CHECK(loads.max_load() == doctest::Approx(rating).epsilon(1e-12));
    const Allocation same = allocation_of(loads);
    CHECK(same.choice == now.choice);
    CHECK(same.ranks == now.ranks);
  }
  CHECK(improved > 20);
}

TEST_CASE("exact: single shards get the best of all placements in the window") {
  Random random(37);
  int better = 0;
  for (int i = 0; i < 100; ++i) {
    INFO("model ", i);
    const Model model = crowded(random, 7, 4, 30 + static_cast<std::int64_t>(random.below(60)));
    AllocationState loads(model.context);
    Allocation start;
    for (std::uint32_t table = 0; table < 7; ++table) {
      start.choice.push_back(table);
      start.ranks.push_back({table % 3});
    }
    loads.assign(start);
    if (!loads.all_good()) continue;
    const std::vector<Rank> window{0, 1, 3};
    std::vector<FreeItem> items;
    for (const std::uint32_t table : {0U, 1U, 3U, 4U})
      items.push_back({table, model.context.first_slot(table)});
    double least = std::max(loads.ranks()[0].load, loads.ranks()[1].load);
    const double before = least;
    for (int code = 0; code < 81; ++code) {
      Allocation other = start;
      int digits = code;
      for (const FreeItem& item : items) {
        other.ranks[item.table][0] = window[static_cast<std::size_t>(digits % 3)];
        digits /= 3;
      }
      AllocationState tried(model.context);
      tried.assign(other);
      if (!tried.all_good()) continue;
      least = std::min(
          least, std::max({tried.ranks()[0].load, tried.ranks()[1].load, tried.ranks()[3].load}));
    }
    BranchAndBound search(loads);
    const SubproblemAnswer answer = search.solve({items, window, before, before, kPlenty});
    CHECK(answer.complete);
    CHECK(answer.better == (least < before));
    better += answer.better ? 1 : 0;
    CHECK(std::max({loads.ranks()[0].load, loads.ranks()[1].load, loads.ranks()[3].load}) ==
          doctest::Approx(least).epsilon(1e-12));
    CHECK(loads.all_good());
  }
  CHECK(better > 30);
}

TEST_CASE("exact: an exhausted work limit is reported, and the best allocation so far is kept") {
  Random random(38);
  const Model model = crowded(random, 20, 4, 1000);
  AllocationState loads(model.context);
  BranchAndBound search(loads);
  const std::vector<Rank> window = all_ranks(model);
  const std::vector<FreeItem> items = all_tables(model);
  loads.clear();
  CHECK_FALSE(search.solve({items, window, kNone, kNone, 5}).complete);
  CHECK(search.work() < 100);
  loads.clear();
  const SubproblemAnswer answer = search.solve({items, window, kNone, kNone, 1'000});
  CHECK_FALSE(answer.complete);
  CHECK(answer.better);
  CHECK(loads.all_good());
  CHECK(search.work() < 2'000);
}

TEST_CASE("exact: equal ranks and equal shards are interchangeable") {
  SpaceBuilder builder(spec_of(17, 16, 16, 100));
  for (std::size_t table = 0; table < 17; ++table)
    builder.add(table, kTableWise, 1, 1, 10);
  const Model model(builder.take());
  AllocationState loads(model.context);
  BranchAndBound search(loads);
  const SubproblemAnswer answer = solve_all(model, loads, search, kNone);
  CHECK(answer.complete);
  CHECK(answer.better);
  CHECK(loads.max_load() == 2);
  CHECK(search.work() < 5'000);
}

}  // namespace shardwright::branch_and_bound_test
