// The starts for local search that the proof suggests, and the order in which lanes take them.
#include "search/embedding/best/lanes.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::suggestions_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Each of two tables may be on one rank or on both.
BoundModel two_tables() {
  SpaceBuilder builder(one_host_spec(2, 2, 100'000));
  for (std::size_t table = 0; table < 2; ++table) {
    builder.add(table, kTableWise, 1, 1, 100);
    builder.add(table, kRowWise, 2, 0.6, 50);
  }
  return BoundModel(builder.take());
}

SuggestedStart suggestion(std::vector<std::uint32_t> choices, std::vector<std::vector<Rank>> ranks,
                          double target) {
  SuggestedStart made{Allocation::of_choices(std::move(choices)), target};
  made.start.ranks = std::move(ranks);
  return made;
}

}  // namespace

TEST_CASE("suggestions: those with the most places come first, and then the last ones") {
  const BoundModel model = two_tables();
  const std::uint32_t on_both = model.choices.first_choice(1) + 1;
  Suggestions suggestions(model.choices, {.suggestion_tries = 2, .most_suggestions = 8});
  CHECK_FALSE(suggestions.take().has_value());
  // The first suggestion has all places, since a table on all ranks needs none.
  suggestions.add({suggestion({0, on_both}, {{1}, {}}, 1), suggestion({0, 2}, {{1}, {}}, 2),
                   suggestion({0, 2}, {{}, {}}, 3)});
  std::vector<double> targets;
  std::vector<bool> has_places;
  while (std::optional<SuggestedStart> next = suggestions.take()) {
    targets.push_back(next->target);
    has_places.push_back(next->has_places());
  }
  CHECK(targets == std::vector<double>{1, 2, 3, 3, 2, 1});
  CHECK(has_places == std::vector<bool>{true, true, false, false, false, false});
}

TEST_CASE("suggestions: the oldest ones make room") {
  const BoundModel model = two_tables();
  Suggestions suggestions(model.choices, {.suggestion_tries = 1, .most_suggestions = 2});
  for (const double target : {1.0, 2.0, 3.0})
    suggestions.add({suggestion({0, 2}, {{}, {}}, target)});
  CHECK(suggestions.take()->target == 3);
  CHECK(suggestions.take()->target == 2);
  CHECK_FALSE(suggestions.take().has_value());
}

}  // namespace shardwright::suggestions_test
