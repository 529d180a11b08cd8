// Choices for a target rating: they are cheap and fit into the memory of every rank.
#include "search/embedding/best/restarts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/embedding/small_models.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"

namespace shardwright::choices_below_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// The first table takes 100 ms on one rank, or 30 ms and a tenth of the memory on each rank. The
// second takes nearly all memory of a rank, or 50 ms.
Model two_tables() {
  SpaceBuilder builder(spec_of(2, 4, 4, 100));
  builder.add(0, kTableWise, 1, 100, 10);
  builder.add(0, kRowWise, 4, 30, 10);
  builder.add(1, kTableWise, 1, 5, 95);
  builder.add(1, kTableWise, 1, 50, 20);
  return Model(builder.take());
}

Reach reach_of(const Model& model, const std::vector<std::uint32_t>& chosen, std::size_t table) {
  return model.choices.choices()[chosen[table]].reach;
}

}  // namespace

TEST_CASE("choices below: options on all ranks leave room for the shards of other tables") {
  const Model model = two_tables();
  const auto high = choices_below(model.context, 110, 1);
  REQUIRE(high.has_value());
  CHECK(reach_of(model, *high, 0) == Reach::kDevice);
  CHECK(model.choices.choices()[(*high)[1]].load == 5);
  const auto low = choices_below(model.context, 90, 1);
  REQUIRE(low.has_value());
  CHECK(reach_of(model, *low, 0) == Reach::kAllRanks);
  CHECK(model.choices.choices()[(*low)[1]].load == 50);
}

TEST_CASE("choices below: there are none if load and memory cannot both be met") {
  const Model model = two_tables();
  CHECK_FALSE(choices_below(model.context, 70, 1).has_value());
  CHECK_FALSE(choices_below(model.context, 20, 1).has_value());
}

TEST_CASE("choices below: every shard fits beside the options on all ranks, below the target") {
  Random random(51);
  int chosen_at_all = 0;
  for (int i = 0; i < 300; ++i) {
    INFO("model ", i);
    const Model model(small_space(random));
    const double target = model.context.bound() * (1 + static_cast<double>(random.below(8)) / 4);
    const auto chosen =
        choices_below(model.context, target, 1 + static_cast<double>(random.below(3)) / 4);
    if (!chosen) continue;
    ++chosen_at_all;
    REQUIRE(chosen->size() == model.choices.num_tables());
    double load = 0;
    Storage everywhere;
    for (const std::uint32_t index : *chosen) {
      const Choice& choice = model.choices.choices()[index];
      if (choice.reach != Reach::kAllRanks) continue;
      load += choice.max_load;
      Storage most;
      for (const ChoiceRun& run : model.choices.runs(choice))
        most = most_of(most, run.storage);
      everywhere += most;
    }
    Storage room;
    for (const Storage& own : model.choices.room())
      room = most_of(room, own);
    for (std::size_t table = 0; table < chosen->size(); ++table) {
      const std::uint32_t index = (*chosen)[table];
      CHECK(index >= model.choices.first_choice(table));
      CHECK(index < model.choices.first_choice(table) + model.choices.choices(table).size());
      CHECK(model.context.fits(index));
      const Choice& choice = model.choices.choices()[index];
      if (choice.reach == Reach::kAllRanks) continue;
      CHECK(choice.max_load + load < target * (1 + 1e-12));
      for (const ChoiceRun& run : model.choices.runs(choice))
        CHECK((run.storage + everywhere).fits_in(room));
    }
  }
  CHECK(chosen_at_all > 60);
}

}  // namespace shardwright::choices_below_test
