// The search over all plans, compared with one that omits no plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/evaluate.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "tests/support/embedding/every_plan.h"
#include "tests/support/random.h"

namespace shardwright::find_plan_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::Random;
using Answer = FoundPlan::Answer;
using nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct SmallProblem {
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const SearchSpace> space;
  Topology available;

  Evaluation rate(const Plan& plan) const { return evaluate(*problem, available, plan); }
};

// Draws `count` problems per seed. Calls visit(problem) for those with at most `most_plans` plans.
void each_small_problem(std::initializer_list<std::uint64_t> seeds, int count, double most_plans,
                        const std::function<void(const SmallProblem&)>& visit) {
  for (const std::uint64_t seed : test_support::seeds(seeds)) {
    Random random(seed);
    for (int i = 0; i < count; ++i) {
      const std::string text = test_support::random_small_problem(random).dump();
      CAPTURE(seed);
      CAPTURE(text);
      const auto spec = read_problem(text);
      REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
      const auto made = Problem::make(*spec);
      if (!made.ok()) continue;  // the rules contradict each other
      const auto problem = std::make_shared<const Problem>(*made);
      const auto space = enumerate_embedding(problem);
      const auto reservation = reserve_embedding(*problem);
      if (!space.ok() || !reservation.ok() || test_support::number_of_plans(**space) > most_plans)
        continue;
      visit({problem, *space, reservation->topology});
    }
  }
}

}  // namespace

TEST_CASE("find plan: says the same as trying every rank for every shard") {
  int found = 0;
  int none = 0;
  each_small_problem({5, 17}, 400, 30'000, [&](const SmallProblem& small) {
    const FoundPlan result = find_any_plan(*small.space, small.available);
    const bool exists = test_support::EveryPlan(small.space, [&](const Plan& plan) {
                          return small.rate(plan).valid();
                        }).run();
    CHECK((result.answer == (exists ? Answer::kFound : Answer::kNoneExists)));
    if (result.plan) CHECK(small.rate(*result.plan).valid());
    ++(exists ? found : none);
  });
  CHECK(found > 30);
  CHECK(none > 30);
}

TEST_CASE("find plan: with an improvement it ends with the best of all plans") {
  int compared = 0;
  each_small_problem({3, 29}, 300, 10'000, [&](const SmallProblem& small) {
    double least = kInfinity;
    test_support::EveryPlan(small.space, [&](const Plan& plan) {
      const Evaluation own = small.rate(plan);
      if (own.valid()) least = std::min(least, own.rating);
      return false;
    }).run();
    constexpr double kPart = 1e-6;
    const PlanGoal goal{*unreachable_rating(*small.space), nullptr, nullptr, kPart};
    const FoundPlan found = find_plan_below(goal, *small.space, small.available, {}, kAnyPlanSteps);
    CHECK((found.answer == Answer::kNoneExists));
    CHECK(found.plan.has_value() == (least < kInfinity));
    if (!found.plan) return;
    const double rating = small.rate(*found.plan).rating;
    CHECK(rating <= least * (1 + 2 * kPart));
    CHECK(found.below <= least * (1 + kPart));
    CHECK(found.below == doctest::Approx(rating * (1 - kPart)).epsilon(1e-12));
    const PlanGoal again{found.below, nullptr, nullptr, 0};
    CHECK((find_plan_below(again, *small.space, small.available, {}, kAnyPlanSteps).answer ==
           Answer::kNoneExists));
    ++compared;
  });
  CHECK(compared > 30);
}

TEST_CASE("find plan: pauses do not change the answer") {
  int paused = 0;
  int pauses = 0;
  each_small_problem({3, 29}, 200, 100'000, [&](const SmallProblem& small) {
    const double any = *unreachable_rating(*small.space);
    for (const double improvement : {0.0, 1e-6}) {
      const PlanGoal goal{any, nullptr, nullptr, improvement};
      const FoundPlan whole =
          find_plan_below(goal, *small.space, small.available, {}, kAnyPlanSteps);
      PlanSearch search(goal, *small.space, small.available, {}, kAnyPlanSteps, {});
      int own = 0;
      while (!search.run(1))
        ++own;
      const FoundPlan parts = search.take_answer();
      CHECK((parts.answer == whole.answer));
      CHECK(parts.below == whole.below);
      REQUIRE(parts.plan.has_value() == whole.plan.has_value());
      if (whole.plan) CHECK(small.rate(*parts.plan).rating == small.rate(*whole.plan).rating);
      paused += own > 0 ? 1 : 0;
      pauses += own;
    }
  });
  CHECK(paused > 30);
  CHECK(pauses > 1000);
}

// 64 equal shards on two ranks have 2^64 placements, of which only 65 differ in load.
TEST_CASE("find plan: equal shards are not told apart") {
  const json text = json::parse(R"({
    "topology": {"world_size": 4, "local_world_size": 2, "hbm_cap": 466234688, "ddr_cap": 116558672},
    "tables": [
      {"name": "t0", "num_embeddings": 284869, "embedding_dim": 32, "pooling_factor": 2,
       "kind": "sequence"},
      {"name": "t1", "num_embeddings": 875006, "embedding_dim": 256, "pooling_factor": 0.5}],
    "batch_size": 128,
    "constraints": {"t0": {"max_shards": 2, "distinct_ranks": true},
                    "t1": {"min_partition": 4, "ranks": [0, 3]}}})");
  const auto problem = std::make_shared<const Problem>(*Problem::make(*read_problem(text.dump())));
  const auto space = enumerate_embedding(problem);
  REQUIRE(space.ok());
  const auto reservation = reserve_embedding(*problem);
  REQUIRE(reservation.ok());
  CHECK(find_any_plan(**space, reservation->topology).answer == Answer::kNoneExists);
  CHECK(find_any_plan(**space, reservation->topology, 10).answer == Answer::kGivenUp);
  const auto stop = [] { return true; };
  CHECK(find_any_plan(**space, reservation->topology, kAnyPlanSteps, stop).answer ==
        Answer::kGivenUp);
}

// So many ranks and tables that computing prices would take too long.
TEST_CASE("find plan: hundreds of ranks and tables") {
  json text = {
      {"reservation", {{"type", "none"}}},
      {"batch_size", 1},
      {"topology", {{"world_size", 600}, {"local_world_size", 8}, {"hbm_cap", 2'000'000}}}};
  for (int i = 0; i < 700; ++i) {
    const std::string name = "t" + std::to_string(i);
    text["tables"].push_back({{"name", name}, {"num_embeddings", 1000}, {"embedding_dim", 64}});
    text["constraints"][name] = {{"sharding_types", {"table_wise"}}};
  }
  for (const char* name : {"t600", "t650", "t699"})
    text["constraints"][name]["ranks"] = {17, 590};
  const auto answer = [&] {
    const auto problem =
        std::make_shared<const Problem>(*Problem::make(*read_problem(text.dump())));
    const auto space = enumerate_embedding(problem);
    REQUIRE(space.ok());
    const Topology& available = problem->topology();
    const FoundPlan found = find_any_plan(**space, available);
    if (found.plan) CHECK(evaluate(*problem, available, *found.plan).valid());
    return found.answer;
  };
  CHECK(answer() == Answer::kFound);
  for (const auto& pair : {json{"t600", "t650"}, json{"t650", "t699"}, json{"t600", "t699"}})
    text["keep_apart"].push_back({{"tables", pair}, {"on", "rank"}});
  CHECK(answer() == Answer::kNoneExists);
}

}  // namespace shardwright::find_plan_test
