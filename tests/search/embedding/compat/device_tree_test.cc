// The tournament tree, compared with a linear scan.
#include "search/embedding/compat/placement.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/random.h"

namespace shardwright::device_tree_test {

namespace {

using shardwright::embedding::DeviceTree;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

// Returns the first leaf with the least load. Leaves without a load do not take part.
std::optional<std::uint32_t> least(const std::vector<std::optional<double>>& loads) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t leaf = 0; leaf < loads.size(); ++leaf) {
    if (loads[leaf] && (!best || *loads[leaf] < *loads[*best])) best = leaf;
  }
  return best;
}

bool agree(const DeviceTree& tree, const std::vector<std::optional<double>>& loads) {
  const auto expected = least(loads);
  return tree.empty() != expected.has_value() && (!expected || tree.winner() == *expected);
}

}  // namespace

TEST_CASE("device tree: the winner is the first leaf of least load after every change") {
  for (const std::uint64_t seed : seeds({71, 72})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (std::uint32_t count = 1; count <= 40; ++count) {
      DeviceTree tree(count);
      std::vector<std::optional<double>> loads(count);
      for (std::uint32_t leaf = 0; leaf < count; ++leaf) {
        loads[leaf] = static_cast<double>(random.below(4)) / 10;
        tree.set(leaf, *loads[leaf]);
      }
      tree.rebuild();
      CHECK(agree(tree, loads));
      for (int step = 0; step < 200; ++step) {
        const auto leaf = static_cast<std::uint32_t>(random.below(count));
        if (random.below(3) == 0) {
          loads[leaf].reset();
          tree.take_out(leaf);
        } else {
          loads[leaf] = random.below(2) == 0 ? 0 : static_cast<double>(random.below(1000)) / 7;
          tree.update(leaf, *loads[leaf]);
        }
        REQUIRE(agree(tree, loads));
      }
    }
  }
}

TEST_CASE("device tree: on equal loads the smallest leaf wins") {
  DeviceTree tree(5);
  for (std::uint32_t leaf = 0; leaf < 5; ++leaf)
    tree.set(leaf, 0);
  tree.rebuild();
  for (std::uint32_t leaf = 0; leaf < 5; ++leaf) {
    CHECK(tree.winner() == leaf);
    tree.update(leaf, 1);
  }
  CHECK(tree.winner() == 0);
}

TEST_CASE("device tree: without leaves it is empty, until one returns") {
  DeviceTree tree(3);
  for (std::uint32_t leaf = 0; leaf < 3; ++leaf)
    tree.set(leaf, 1);
  tree.rebuild();
  for (std::uint32_t leaf = 0; leaf < 3; ++leaf) {
    CHECK_FALSE(tree.empty());
    tree.take_out(leaf);
  }
  CHECK(tree.empty());
  tree.update(1, 1e300);
  CHECK_FALSE(tree.empty());
  CHECK(tree.winner() == 1);
}

}  // namespace shardwright::device_tree_test
