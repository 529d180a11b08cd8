// Annealing of choices alone.
#include "search/embedding/best/choices/choice_annealer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "search/embedding/model/rank_state/allocation_state.h"
#include "tests/support/embedding/small_models.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"

namespace shardwright::choice_annealer_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Nine tables on two hosts of four ranks. Four of them fill a rank of 10 ms each, or cost more
// on a host. The others fill the ranks of one host, or cost more on single ranks. At 10 ms, one
// host has the four tables and the other one has the others.
Model two_halves() {
  SpaceBuilder builder(spec_of(9, 8, 4, 1000));
  for (std::size_t table = 0; table < 4; ++table)
    builder.add(table, kTableWise, 1, 10, 1).add(table, kTableRowWise, 4, 3.2, 1);
  for (std::size_t table = 4; table < 9; ++table)
    builder.add(table, kTableWise, 1, 9, 1).add(table, kTableRowWise, 4, 2, 1);
  return Model(builder.take());
}

std::vector<std::uint32_t> first_choices(const Model& model) {
  std::vector<std::uint32_t> choices;
  for (std::size_t table = 0; table < model.choices.num_tables(); ++table)
    choices.push_back(model.choices.first_choice(table));
  return choices;
}

struct Improved {
  Allocation allocation;
  double rating = 0;
  std::uint64_t work = 0;
};

Improved improved(const Model& model, const AnnealingParameters& parameters, std::uint64_t seed,
                  const Budget& budget) {
  const std::vector<std::uint32_t> start = first_choices(model);
  constexpr double kRating = 11;  // of a plan that is known
  AllocationState state(model.context);
  ListPlacer placer(model.context, parameters.construct);
  placer.begin(start, {10, 1});
  state.assign(placer.allocation());
  ConsideredChoices considered(state);
  considered.set_rating(kRating);
  ChoiceAnnealer annealer(model.context, parameters);
  REQUIRE(annealer.is_useful());
  RandomGenerator random(seed);
  StopCheck stopped(budget);
  Improved made;
  made.allocation = annealer.improve(start, considered, kRating, 10 + 1e-9, random, stopped);
  made.work = annealer.work();
  state.assign(made.allocation);
  made.rating = state.max_load();
  return made;
}

}  // namespace

TEST_CASE("choice annealer: replaces the choices of many tables at once") {
  const Model model = two_halves();
  AnnealingParameters parameters;
  parameters.choices.moves_per_table = 2000;
  int best = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const Improved made = improved(model, parameters, seed, Budget());
    CHECK(made.rating < 18);  // where it begins
    if (made.rating <= 10 + 1e-9) ++best;
  }
  CHECK(best == 4);
}

TEST_CASE("choice annealer: the same seed gives the same allocation") {
  const Model model = two_halves();
  const Improved one = improved(model, {}, 5, Budget());
  const Improved two = improved(model, {}, 5, Budget());
  CHECK(one.allocation.choice == two.allocation.choice);
  CHECK(one.allocation.ranks == two.allocation.ranks);
  CHECK(one.work == two.work);
}

TEST_CASE("choice annealer: a stop leaves a complete allocation, after little work") {
  const Model model = two_halves();
  std::stop_source stop;
  stop.request_stop();
  const Improved made =
      improved(model, {}, 1, Budget(std::nullopt, std::nullopt, stop.get_token()));
  CHECK(made.rating > 0);
  CHECK(made.work < 1000);
}

TEST_CASE("choice annealer: not with placement rules, nor with too many tables") {
  Random random(3);
  int ruled = 0;
  for (int i = 0; i < 20; ++i) {
    ProblemSpec spec = small_ruled_spec(random);
    if (!Problem::make(spec).ok()) continue;
    const Model model(small_ruled_space(random, std::move(spec)));
    if (!model.choices.status().ok() || !model.choices.rules().any()) continue;
    ++ruled;
    CHECK_FALSE(ChoiceAnnealer(model.context, {}).is_useful());
  }
  CHECK(ruled > 5);
  const Model model(forty_tables(1000));
  AnnealingParameters parameters;
  CHECK(ChoiceAnnealer(model.context, parameters).is_useful());
  parameters.choices.most_work = 10'000;
  CHECK_FALSE(ChoiceAnnealer(model.context, parameters).is_useful());
}

}  // namespace shardwright::choice_annealer_test
