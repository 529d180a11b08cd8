// Choices of all tables under prices of memory: the cheapest, and random similar ones.
#include "search/embedding/model/priced_choices.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/embedding/model/search_context.h"
#include "search/random.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::priced_choices_test {

namespace {

using namespace shardwright;
using embedding::ChoiceModel;
using embedding::MemoryPrices;
using embedding::OptionPool;
using embedding::PricedChoices;
using embedding::ReachFactors;
using embedding::SearchContext;
using enum embedding::ShardingType;

constexpr std::size_t kTables = 40;
constexpr int kDraws = 400;
constexpr int kSteps = 30;
constexpr ReachFactors kAlike{1, 1, 1, 1};

// Every table has choices of load 1, 2 and 4. A choice of more load needs less memory.
struct Priced {
  OptionPool pool{[] {
    test_support::SpaceBuilder builder(test_support::problem_spec(kTables, 4, 4));
    for (std::size_t table = 0; table < kTables; ++table) {
      builder.add(table, kTableWise, 1, 1, 30);
      builder.add(table, kColumnWise, 2, 1, 10);
      builder.add(table, kRowWise, 4, 1, 1);
    }
    return builder.take();
  }()};
  ChoiceModel model{pool, pool.problem().topology()};
  SearchContext context{model};
  PricedChoices priced{context};

  double load(const std::vector<std::uint32_t>& choices) const {
    double sum = 0;
    for (const std::uint32_t choice : choices)
      sum += model.choices()[choice].load;
    return sum;
  }
};

}  // namespace

TEST_CASE("priced choices: drawn ones are dearer by what was asked for, on average") {
  const Priced of;
  REQUIRE(of.model.status().ok());
  RandomGenerator random(3);
  const std::vector<std::uint32_t> cheapest = of.priced.cheapest({});
  for (const double excess : {0.5, 3.0, 10.0}) {
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<std::uint32_t> drawn = of.priced.draw({}, kAlike, excess, kSteps, random);
      REQUIRE(drawn.size() == kTables);
      for (std::size_t table = 0; table < kTables; ++table)
        REQUIRE(of.model.table_of(drawn[table]) == table);
      sum += of.load(drawn) - of.load(cheapest);
    }
    CAPTURE(excess);
    CHECK(sum / kDraws > 0.7 * excess);
    CHECK(sum / kDraws < 1.3 * excess);
  }
}

TEST_CASE("priced choices: only admitted ones are drawn, and the cheapest without any excess") {
  Priced of;
  RandomGenerator random(3);
  CHECK(of.priced.draw({}, kAlike, 0, kSteps, random) == of.priced.cheapest({}));
  const std::uint32_t out = of.priced.cheapest({}).front();
  of.priced.admit(
      [&](const embedding::Choice& choice) { return &choice != &of.model.choices()[out]; });
  for (int i = 0; i < kDraws; ++i)
    CHECK(of.priced.draw({}, kAlike, 10, kSteps, random).front() != out);
}

TEST_CASE("priced choices: loads count by a factor of their reach") {
  const Priced of;
  using embedding::Reach;
  RandomGenerator random(3);
  const auto reach = [&](const ReachFactors& factors) {
    const std::uint32_t cheapest = of.priced.draw({}, factors, 0, kSteps, random).front();
    return of.model.choices()[cheapest].reach;
  };
  CHECK(reach(kAlike) == Reach::kDevice);
  ReachFactors factors = kAlike;
  factors[static_cast<std::size_t>(Reach::kDevice)] = 5;
  CHECK(reach(factors) == Reach::kAllRanks);
}

}  // namespace shardwright::priced_choices_test
