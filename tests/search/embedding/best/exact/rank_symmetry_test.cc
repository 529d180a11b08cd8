// Which ranks are interchangeable: what they hold, what they may hold and where they are.
#include "search/embedding/best/exact/rank_symmetry.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/embedding/small_models.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::rank_symmetry_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

const std::vector<Rank> kFour{0, 1, 2, 3};

}  // namespace

TEST_CASE("symmetry: ranks are twins until they hold something else") {
  SpaceBuilder builder(spec_of(1, 4, 2, 100));
  builder.add(0, kTableWise, 1, 1, 10);
  const Model model(builder.take());
  AllocationState loads(model.context);
  loads.clear();
  RankSymmetry symmetry(loads);
  const std::vector<std::uint32_t> choices{0};
  symmetry.begin(kFour, choices, false, false);
  CHECK(symmetry.are_twins(0, 1));
  CHECK(symmetry.are_twins(0, 3));
  loads.add(0, {1, {Bytes(10), Bytes(0)}});
  CHECK_FALSE(symmetry.are_twins(0, 1));
  loads.add(3, {1, {Bytes(10), Bytes(0)}});
  CHECK(symmetry.are_twins(0, 3));
  loads.add(3, {0, {Bytes(0), Bytes(1)}});
  CHECK_FALSE(symmetry.are_twins(0, 3));
}

TEST_CASE("symmetry: rules make all ranks distinct, shards that must stay make hosts distinct") {
  SpaceBuilder builder(spec_of(1, 4, 2, 100));
  builder.add(0, kTableWise, 1, 1, 10);
  const Model model(builder.take());
  AllocationState loads(model.context);
  loads.clear();
  RankSymmetry symmetry(loads);
  const std::vector<std::uint32_t> choices{0};
  symmetry.begin(kFour, choices, true, false);
  CHECK_FALSE(symmetry.are_twins(0, 1));
  symmetry.begin(kFour, choices, false, true);
  CHECK(symmetry.are_twins(0, 1));
  CHECK_FALSE(symmetry.are_twins(0, 2));
}

TEST_CASE("symmetry: with choices within one host, the other ranks of the host count, too") {
  SpaceBuilder builder(spec_of(1, 4, 2, 100));
  builder.add(0, kTableRowWise, 2, 1, 10);
  const Model model(builder.take());
  AllocationState loads(model.context);
  loads.clear();
  RankSymmetry symmetry(loads);
  const std::vector<std::uint32_t> choices{0};
  symmetry.begin(kFour, choices, false, false);
  CHECK(symmetry.are_twins(0, 2));
  CHECK(symmetry.are_twin_hosts(0, 1));
  loads.add(1, {1, {Bytes(10), Bytes(0)}});
  CHECK_FALSE(symmetry.are_twins(0, 2));
  CHECK(symmetry.are_twins(2, 3));
  CHECK_FALSE(symmetry.are_twin_hosts(0, 1));
  loads.add(3, {1, {Bytes(10), Bytes(0)}});
  CHECK(symmetry.are_twins(0, 2));
  CHECK_FALSE(symmetry.are_twins(0, 3));
}

TEST_CASE("symmetry: ranks differ by free memory, time and the shard of an option on all ranks") {
  ProblemSpec spec = spec_of(1, 4, 4, 100);
  spec.topology.custom_hbm_cap_bytes = {100, 100, 90, 100};
  spec.calibration.rank_time = {1, 1, 1, 2};
  SpaceBuilder builder(spec);
  builder.add(0, kTableWise, 1, 1, 10);
  builder.add_runs(0, kRowWise, {{1, 0.5, 5, 0}, {3, 0.25, 2, 0}});
  const Model model(builder.take());
  AllocationState loads(model.context);
  loads.clear();
  RankSymmetry symmetry(loads);
  const std::vector<std::uint32_t> single{0};
  symmetry.begin(kFour, single, false, false);
  CHECK(symmetry.are_twins(0, 1));
  CHECK_FALSE(symmetry.are_twins(0, 2));
  CHECK_FALSE(symmetry.are_twins(0, 3));
  REQUIRE(model.choices.choices()[1].reach == Reach::kAllRanks);
  const std::vector<std::uint32_t> both{0, 1};
  symmetry.begin(kFour, both, false, false);
  CHECK_FALSE(symmetry.are_twins(0, 1));
}

}  // namespace shardwright::rank_symmetry_test
