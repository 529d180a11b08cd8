// The memory of simulating a plan: about one copy of every rank's tensor per step.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/program/simulate.h"
#include "tests/support/allocation_counter.h"

namespace shardwright::simulate_memory_test {

using namespace shardwright::program;
using shardwright::test_support::AllocationScope;

namespace {

constexpr std::int64_t kRanks = 64;
constexpr std::int64_t kElements = 8192;
// Every rank ends with all elements. The tensors, the pieces that they are joined from, and the
// data shared between ranks may exist at the same time. A copy per pair of ranks would take 64
// times as much.
constexpr std::uint64_t kMostBytes = 4 * kRanks * kElements * sizeof(std::int64_t);

std::vector<Rank> all_ranks() {
  std::vector<Rank> ranks(kRanks);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

DistAttr placement(std::int8_t mapped) {
  return {ProcessMesh::make({kRanks}, all_ranks()).value(), {mapped}, {}};
}

Step gather(bool need_split) {
  Step step;
  step.kind = StepKind::kAllGather;
  step.need_split = need_split;
  step.group = all_ranks();
  return step;
}

}  // namespace

TEST_CASE("simulate: a gather allocates what its ranks end with, not that much per member") {
  const DistAttr source = placement(0);
  const DistAttr target = placement(-1);
  ReshardPlan plan;
  for (const Rank rank : all_ranks())
    plan.at(rank) = {gather(false)};
  const AllocationScope scope;
  const bool is_right = simulate({kElements}, source, target, plan).ok();
  const std::uint64_t bytes = scope.bytes();
  CHECK(is_right);
  CHECK(bytes < kMostBytes);
}

TEST_CASE("simulate: joining pieces allocates their tensor once, not once per piece") {
  const DistAttr source = placement(0);
  const DistAttr target = placement(-1);
  Step join;
  join.kind = StepKind::kConcat;
  for (std::int64_t i = 0; i < kRanks; ++i)
    join.parts.push_back({cut(kElements, kRanks, i)});
  ReshardPlan plan;
  for (const Rank rank : all_ranks())
    plan.at(rank) = {gather(true), join};
  const AllocationScope scope;
  const bool is_right = simulate({kElements}, source, target, plan).ok();
  const std::uint64_t bytes = scope.bytes();
  CHECK(is_right);
  CHECK(bytes < kMostBytes);
}

TEST_CASE("collective: members that ask for the same result share it") {
  Collective shared({Array{{2}, {1, 2}}, Array{{2}, {5, 4}}});
  const Array& joined = shared.joined(0);
  CHECK(joined.shape == Shape{4});
  CHECK(joined.values == std::vector<std::int64_t>{1, 2, 5, 4});
  CHECK(&shared.joined(0) == &joined);
  const Array& sum = shared.reduced(redistribution::ReduceOp::kSum);
  CHECK(sum.values == std::vector<std::int64_t>{6, 6});
  CHECK(shared.reduced(redistribution::ReduceOp::kMax).values == std::vector<std::int64_t>{5, 4});
  CHECK(shared.reduced(redistribution::ReduceOp::kAvg).values == std::vector<std::int64_t>{3, 3});
  CHECK(&shared.reduced(redistribution::ReduceOp::kSum) == &sum);
}

}  // namespace shardwright::simulate_memory_test
