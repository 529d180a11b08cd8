// Which process has which lane.
#include "search/embedding/best/processes/lane_dealing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardwright::lane_dealing_test {

namespace {

using embedding::LaneDealing;

constexpr std::size_t kFirst = 128;
constexpr std::size_t kLanes = 128;

std::vector<std::size_t> lanes_by_process(const LaneDealing& dealing) {
  std::vector<std::size_t> count(dealing.processes());
  for (std::size_t lane = kFirst; lane < kFirst + kLanes; ++lane)
    ++count[dealing.process_of(lane)];
  return count;
}

std::vector<double> load_with_tree(const LaneDealing& dealing, double weight) {
  std::vector<double> load;
  for (const std::size_t lanes : lanes_by_process(dealing))
    load.push_back(static_cast<double>(lanes));
  const std::vector<std::uint64_t> done(dealing.processes(), 1000);
  const std::vector<std::uint32_t> tree = dealing.deal_tree(weight, done, 1);
  REQUIRE(tree.size() == kFirst);
  CHECK(tree.front() == 0);
  for (const std::uint32_t process : tree)
    load[process] += weight / static_cast<double>(kFirst);
  return load;
}

}  // namespace

TEST_CASE("lane dealing: one process has all lanes") {
  CHECK(lanes_by_process(LaneDealing()) == std::vector<std::size_t>{kLanes});
  CHECK(lanes_by_process(LaneDealing(1, kFirst, kLanes, 16)) == std::vector<std::size_t>{kLanes});
}

TEST_CASE("lane dealing: process 0 has as many lanes fewer as its proof weighs") {
  CHECK(lanes_by_process(LaneDealing(8, kFirst, kLanes, 16)) ==
        std::vector<std::size_t>{2, 18, 18, 18, 18, 18, 18, 18});
  CHECK(lanes_by_process(LaneDealing(8, kFirst, kLanes, 0)) ==
        std::vector<std::size_t>{16, 16, 16, 16, 16, 16, 16, 16});
  // A proof of more than a fair share leaves no other lane to process 0.
  CHECK(lanes_by_process(LaneDealing(64, kFirst, kLanes, 16)).front() == 0);
}

TEST_CASE("lane dealing: a shared tree makes up for what process 0 has less") {
  const LaneDealing dealing(8, kFirst, kLanes, 16);
  for (const double weight : {24.0, 144.0}) {
    CAPTURE(weight);
    const std::vector<double> load = load_with_tree(dealing, weight);
    const double fair = (kLanes + weight) / 8;
    CHECK(*std::max_element(load.begin(), load.end()) < 1.1 * fair);
    CHECK(*std::min_element(load.begin(), load.end()) > 0.9 * fair);
  }
}

TEST_CASE("lane dealing: who has done less gets more of a tree, to catch up in time") {
  const LaneDealing dealing(4, kFirst, kLanes, 0);
  constexpr std::uint64_t kCatchUp = 1000;
  const std::vector<std::uint64_t> done{50'000, 40'000, 60'000, 50'000};
  const std::vector<std::uint32_t> tree = dealing.deal_tree(kFirst, done, kCatchUp);
  // Every lane of the tree does as much as one that looks for plans, so lanes count.
  for (std::uint32_t process = 0; process < 4; ++process) {
    CAPTURE(process);
    const auto own = static_cast<std::uint64_t>(std::count(tree.begin(), tree.end(), process));
    CHECK(own + done[process] / kCatchUp == (kFirst + 200) / 4);
  }
}

}  // namespace shardwright::lane_dealing_test
