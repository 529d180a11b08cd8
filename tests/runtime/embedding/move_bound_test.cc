// Bounds of rating + weight x GiB moved, compared with all plans of small problems.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluate.h"
#include "core/units.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/io/embedding/problem_json.h"
#include "search/embedding/questions/old_plan.h"
#include "tests/support/embedding/every_plan.h"
#include "tests/support/random.h"

namespace shardwright::move_bound_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::Random;

// Returns a random place for most tables. The machine may lack the rank now.
std::vector<PlanEntry> old_entries(Random& random, const Problem& problem) {
  std::vector<PlanEntry> entries;
  const std::int64_t ranks = problem.topology().world_size();
  for (const Table& table : problem.tables()) {
    if (random.below(5) == 0) continue;
    PlanEntry& entry = entries.emplace_back();
    entry.table = table.name;
    if (random.below(2) == 0) {
      entry.sharding_type = ShardingType::kTableWise;
      entry.ranks = {static_cast<std::int64_t>(random.below(5))};
    } else {
      entry.sharding_type = ShardingType::kRowWise;
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        entry.ranks.push_back(rank);
    }
  }
  return entries;
}

// Returns the least rating + weight x GiB moved of all plans.
double least_cost(const std::shared_ptr<const SearchSpace>& space, const OldPlan& old,
                  double weight) {
  double least = std::numeric_limits<double>::infinity();
  test_support::EveryPlan(space, [&](const Plan& plan) {
    const Evaluation found = evaluate(space->problem(), space->problem().topology(), plan);
    if (!found.valid()) return false;
    double moved = 0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (old.place(plan[i].option->table) != nullptr)
        moved += static_cast<double>(old.bytes_to_move(plan[i]));
    }
    least = std::min(least, found.rating + weight * moved / static_cast<double>(kGibibyte));
    return false;
  }).run();
  return least;
}

BoundCertificate claim(Random& random, double bound, std::uint32_t ranks) {
  BoundCertificate certificate;
  certificate.bound = bound;
  certificate.by_search = true;
  BoundNode& leaf = certificate.nodes.emplace_back();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    certificate.class_of_rank.push_back(rank);
    leaf.multipliers.push_back({0.25 * static_cast<double>(random.below(8)),
                                1e-9 * static_cast<double>(random.below(4)), 0});
  }
  return certificate;
}

}  // namespace

TEST_CASE("move bound: the check accepts the least cost of all plans and nothing above it") {
  int checked = 0;
  for (const std::uint64_t seed : test_support::seeds({7, 19})) {
    Random random(seed);
    for (int i = 0; i < 300; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const auto spec = read_problem(test_support::random_small_problem(random).dump());
      REQUIRE(spec.ok());
      const auto made = Problem::make(*spec);
      if (!made.ok()) continue;
      const auto problem = std::make_shared<const Problem>(*made);
      const auto space = enumerate_embedding(problem);
      if (!space.ok() || test_support::number_of_plans(**space) > 10'000) continue;
      const auto entries = old_entries(random, *problem);
      const auto old = OldPlan::make(*space, entries);
      REQUIRE(old.ok());
      const double weight = std::pow(10.0, static_cast<double>(random.below(5)));
      const double least = least_cost(*space, *old, weight);
      const auto wrong = [&](double bound) {
        const Topology& available = problem->topology();
        const auto found = check_migration_bound(*space, available, entries, weight,
                                                 claim(random, bound, available.world_size()));
        REQUIRE(found.ok());
        return found->value_or("");
      };
      if (std::isinf(least)) {
        CHECK(wrong(1e9) == "");
        continue;
      }
      CHECK(wrong(least * (1 - 3e-9)) == "");
      CHECK(wrong(least * (1 + 1e-6)) == "there is a plan below the bound");
      ++checked;
    }
  }
  CHECK(checked > 60);
}

TEST_CASE("move bound: what replan claims is certified, and no plan is below it") {
  int certified = 0;
  for (const std::uint64_t seed : test_support::seeds({23})) {
    Random random(seed);
    for (int i = 0; i < 150; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const auto spec = read_problem(test_support::random_small_problem(random).dump());
      const auto made = Problem::make(*spec);
      if (!made.ok()) continue;
      const auto problem = std::make_shared<const Problem>(*made);
      const auto space = enumerate_embedding(problem);
      if (!space.ok() || test_support::number_of_plans(**space) > 10'000) continue;
      const auto entries = old_entries(random, *problem);
      ReplanOptions how;
      how.plan.threads = 1;
      how.plan.work_limit = 1'000'000;
      how.migration_weight = 100;
      const auto result = replan_embedding(problem, entries, how);
      REQUIRE(result.ok());
      if (!result->plan) continue;
      const Migration& migration = *result->migration;
      const double least =
          least_cost(*space, OldPlan::make(*space, entries).value(), how.migration_weight);
      REQUIRE(migration.lower_bound.has_value());
      CHECK(*migration.lower_bound <= least * (1 + 1e-9));
      if (!migration.certificate) {
        CHECK(*migration.lower_bound <= result->lower_bound.value_or(0));
        continue;
      }
      CHECK(*migration.lower_bound <= migration.certificate->bound);
      CHECK(*migration.lower_bound >= least * (1 - 1e-7));
      ++certified;
    }
  }
  CHECK(certified > 10);
}

}  // namespace shardwright::move_bound_test
