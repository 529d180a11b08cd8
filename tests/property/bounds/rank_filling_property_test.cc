// Filling one rank after the other agrees with every plan of small problems.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/rank_filling.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::rank_filling_property_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;
using Answer = RankFilling::Answer;

struct Filled {
  Answer answer = Answer::kGivenUp;
  double rating = 0;
};

// Prices of load that add up to one, some ranks for nothing; every other time memory has a price.
RankPriceSet random_prices(const SmallProblem& small, Random& random) {
  RankPriceSet prices(small.available.world_size());
  double sum = 0;
  for (CapacityMultipliers& own : prices) {
    own.load = static_cast<double>(random.below(4));
    sum += own.load;
  }
  for (CapacityMultipliers& own : prices)
    own.load = sum > 0 ? own.load / sum : 1.0 / static_cast<double>(prices.size());
  if (random.below(2) == 0) prices[random.below(prices.size())].hbm = 1e-9;
  return prices;
}

std::optional<Filled> fill(const SmallProblem& small, const RankPriceSet& prices, double target,
                           std::uint64_t steps) {
  const SearchSpace& space = *small.space;
  const std::vector<ChoicesOfTable> tables =
      all_choices(space, small.available, {target, nullptr, nullptr, 0});
  const std::vector<RankTraits> ranks = traits_of(space, small.available);
  std::uint64_t work = steps;
  const std::function<bool()> never;
  StepLimit limit(work, never);
  const auto placements =
      TablePlacements::make(tables, ranks, small.available.local_world_size(), prices, limit);
  if (!placements) return std::nullopt;
  RankFilling filling(*placements, ranks, prices, target, limit);
  const Answer answer = filling.run();
  return Filled{answer, filling.rating()};
}

}  // namespace

TEST_CASE("rank filling: finds a plan above the least rating and none below") {
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 24;
  for (const std::uint64_t seed : seeds({5001, 5002})) {
    Random random(seed);
    int compared = 0;
    for (int i = 0; i < 1500; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const SmallProblem small = mixed_problem(random, i);
      const std::optional<double> least = least_rating(small);
      if (!least || *least <= 0 || small.space->problem().rules().any()) continue;
      const RankPriceSet prices = random_prices(small, random);
      const auto above = fill(small, prices, *least * (1 + 1e-6), kSteps);
      if (!above) continue;
      CHECK((above->answer == Answer::kFound));
      CHECK(above->rating == doctest::Approx(*least).epsilon(2e-6));
      CHECK(above->rating >= *least * (1 - 1e-9));
      const auto below = fill(small, prices, *least * (1 - 1e-6), kSteps);
      REQUIRE(below.has_value());
      CHECK((below->answer == Answer::kNoneExists));
      ++compared;
    }
    MESSAGE("compared ", compared);
    CHECK(compared > 300);
  }
}

TEST_CASE("rank filling: gives up without steps") {
  Random random(7);
  int given_up = 0;
  for (int i = 0; i < 50; ++i) {
    const SmallProblem small = mixed_problem(random, i);
    const std::optional<double> least = least_rating(small);
    if (!least || *least <= 0 || small.space->problem().rules().any()) continue;
    const auto filled = fill(small, random_prices(small, random), *least * (1 - 1e-6), 0);
    if (!filled) continue;
    CHECK((filled->answer == Answer::kGivenUp));
    ++given_up;
  }
  CHECK(given_up > 10);
}

}  // namespace shardwright::rank_filling_property_test
