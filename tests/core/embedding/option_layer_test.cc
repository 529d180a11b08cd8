// Options that extend a search space: equal options always have the same address.
#include "core/embedding/search_space.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::option_layer_test {

namespace {

using namespace shardwright::embedding;
using shardwright::test_support::problem_spec;
using shardwright::test_support::SpaceBuilder;

std::shared_ptr<const SearchSpace> two_tables() {
  return SpaceBuilder(problem_spec(2, 2, 2))
      .add(0, ShardingType::kTableWise, 1, 1, 10)
      .add(1, ShardingType::kTableWise, 1, 1, 10)
      .add(1, ShardingType::kTableWise, 1, 1, 10)
      .take();
}

ShardingOption scaled(const SearchSpace& space, double load_factor) {
  ShardingOption option = space.options()[0];
  option.load_factor = load_factor;
  return option;
}

}  // namespace

TEST_CASE(
    "option layer: returns the space's own object for an option of the space, the first of equal "
    "ones") {
  const auto space = two_tables();
  OptionLayer layer(space);
  OptionLayer other(space);
  const ShardingOption copy = space->options()[1];
  CHECK(layer.intern(copy) == &space->options()[1]);
  CHECK(other.intern(space->options()[2]) == &space->options()[1]);
  CHECK(layer.size() == 0);
}

TEST_CASE("option layer: a new option is added once, and to this layer only") {
  const auto space = two_tables();
  OptionLayer layer(space);
  OptionLayer other(space);
  const ShardingOption* const half = layer.intern(scaled(*space, 0.5));
  CHECK(*half == scaled(*space, 0.5));
  CHECK(layer.intern(scaled(*space, 0.5)) == half);
  CHECK(layer.intern(scaled(*space, 0.25)) != half);
  CHECK(layer.size() == 2);
  CHECK(other.size() == 0);
  CHECK(space->interned().find(*half) == nullptr);
}

TEST_CASE("option layer: keeps its space alive") {
  std::weak_ptr<const SearchSpace> watch;
  std::optional<OptionLayer> layer;
  {
    const auto space = two_tables();
    watch = space;
    layer.emplace(space);
  }
  REQUIRE_FALSE(watch.expired());
  CHECK(layer->space().size() == 3);
  layer.reset();
  CHECK(watch.expired());
}

}  // namespace shardwright::option_layer_test
