#include <doctest/doctest.h>

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/program/simulate.h"
#include "search/program/best_planner.h"
#include "search/program/compat_planner.h"
#include "tests/search/program/naive_reshard.h"
#include "tests/support/random.h"

namespace shardwright::planner_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;

ProcessMesh mesh_of(std::vector<std::int64_t> shape, Rank first = 0) {
  Rank ranks = 1;
  for (const std::int64_t extent : shape)
    ranks *= static_cast<Rank>(extent);
  std::vector<Rank> ids;
  for (Rank i = 0; i < ranks; ++i)
    ids.push_back(first + i);
  return ProcessMesh::make(std::move(shape), std::move(ids)).value();
}

// Returns a random placement. Along each axis, the tensor is split, partial or neither.
DistAttr random_attr(test_support::Random& random, const ProcessMesh& mesh, std::size_t dims) {
  DistAttr attr{mesh, DimsMapping(dims, -1), PartialAxes(mesh.axes(), Reduction::kNone)};
  for (std::size_t axis = 0; axis < mesh.axes(); ++axis) {
    const std::size_t choice = random.below(dims + 2);
    if (choice == dims) attr.partial[axis] = Reduction::kSum;
    if (choice < dims && attr.dims_mapping[choice] == -1) {
      attr.dims_mapping[choice] = static_cast<std::int8_t>(axis);
    }
  }
  return attr;
}

}  // namespace

TEST_CASE("best planner: an axis that moves between dimensions is exchanged, never gathered") {
  const Cluster cluster;
  for (const std::int64_t ranks : {2, 4, 8}) {
    std::vector<Rank> ids;
    for (Rank rank = 0; rank < ranks; ++rank)
      ids.push_back(rank);
    const ProcessMesh mesh = ProcessMesh::make({ranks}, ids).value();
    for (const std::int64_t size : {8, 64, 512}) {
      for (std::size_t from = 0; from < 3; ++from) {
        for (std::size_t to = 0; to < 3; ++to) {
          if (from == to) continue;
          DistAttr source{mesh, {-1, -1, -1}, {}};
          DistAttr target = source;
          source.dims_mapping[from] = 0;
          target.dims_mapping[to] = 0;
          const BestPlan best =
              plan_best(cluster, {size, size, size}, DataType::kFloat32, source, target).value();
          for (const auto& [rank, steps] : best.plan.ranks) {
            for (const Step& step : steps) {
              CHECK(step.kind != StepKind::kAllGather);
              CHECK(step.kind != StepKind::kConcatGather);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("best planner: partial sums are scattered where the target is split") {
  DistAttr source{ProcessMesh::make({4}, {0, 1, 2, 3}).value(), {-1, -1}, {Reduction::kSum}};
  DistAttr target = source;
  target.partial.clear();
  target.dims_mapping = {0, -1};
  const BestPlan best = plan_best({}, {64, 64}, DataType::kFloat32, source, target).value();
  REQUIRE(best.path.has_value());
  REQUIRE(best.path->steps.size() == 1);
  CHECK(best.path->steps[0].move.kind == redistribution::Move::Kind::kReduceScatter);
}

TEST_CASE("compat planner: uneven pieces are refused, overlapping ranks get an empty plan") {
  DistAttr source{ProcessMesh::make({2}, {0, 1}).value(), {0}, {}};
  DistAttr target = source;
  target.dims_mapping = {-1};
  CHECK(plan_compat({5}, source, target).error().code == ErrorCode::kUnsupported);
  target.mesh = ProcessMesh::make({2}, {1, 2}).value();
  CHECK(plan_compat({4}, source, target)->empty());
}

TEST_CASE(
    "best planner: no sequence of three steps is cheaper, for any ratio of latency and bandwidth") {
  const std::vector<std::vector<std::int64_t>> kMeshes{{2}, {4}, {2, 2}, {4, 2}, {2, 2, 2}, {1, 4}};
  constexpr std::int64_t kSizes[] = {8, 64, 512, 4096};
  constexpr std::int64_t kRanksPerMachine[] = {8, 4, 2};
  test_support::Random random(11);
  std::size_t sequences = 0;
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    Cluster cluster;
    cluster.ranks_per_machine = kRanksPerMachine[random.below(3)];
    Shape shape;
    for (std::size_t dims = 1 + random.below(3); shape.size() < dims;)
      shape.push_back(kSizes[random.below(dims == 3 ? 3 : 4)]);
    const ProcessMesh mesh = mesh_of(kMeshes[random.below(kMeshes.size())]);
    const DistAttr source = random_attr(random, mesh, shape.size());
    const DistAttr target = random_attr(random, mesh, shape.size());
    if (source == target) continue;
    const BestPlan best = plan_best(cluster, shape, DataType::kFloat32, source, target).value();
    test_support::NaiveReshard naive(cluster, shape, DataType::kFloat32, source, target);
    CHECK(best.us <= naive.cheapest_us(3) * (1 + 1e-9));
    CHECK(best.us == plan_us(cluster, shape, DataType::kFloat32, source, best.plan));
    sequences += naive.sequences();
  }
  CHECK(sequences > 500);
}

TEST_CASE("best planner: large sums across machines are split before they are reduced") {
  Cluster cluster;
  cluster.ranks_per_machine = 4;
  const DistAttr source{mesh_of({2, 4}), {-1, -1}, {Reduction::kSum}};
  const DistAttr target{source.mesh, {-1, -1}, {}};
  const BestPlan best =
      plan_best(cluster, {4096, 4096}, DataType::kFloat32, source, target).value();
  REQUIRE(best.path.has_value());
  REQUIRE(best.path->steps.size() >= 3);
  CHECK(best.path->steps.front().move.kind == redistribution::Move::Kind::kSplit);
  CHECK(best.path->steps.back().move.kind == redistribution::Move::Kind::kAllGather);
  CHECK(plan_best(cluster, {8, 8}, DataType::kFloat32, source, target)->path->steps.size() == 1);
  CHECK(simulate({8, 8}, source, target,
                 plan_best(cluster, {8, 8}, DataType::kFloat32, source, target)->plan)
            .ok());
}

TEST_CASE("best planner: partial sums that stay partial on another mesh are sent as they are") {
  for (const Reduction due : {Reduction::kSum, Reduction::kAvg, Reduction::kMax}) {
    const DistAttr source{mesh_of({2, 2}), {0, -1}, {Reduction::kNone, due}};
    const DistAttr target{mesh_of({2, 2}, 4), {-1, 1}, {due}};
    const BestPlan best = plan_best({}, {8, 8}, DataType::kFloat32, source, target).value();
    CHECK(simulate({8, 8}, source, target, best.plan).ok());
    for (const auto& [rank, steps] : best.plan.ranks) {
      for (const Step& step : steps)
        CHECK_FALSE(is_collective(step.kind));
    }
  }
}

TEST_CASE("planners: tensors without elements and without dimensions") {
  const DistAttr split{mesh_of({2, 3}), {-1, 1, -1}, {Reduction::kSum}};
  const DistAttr far{mesh_of({2, 3}, 6), {0, -1, -1}, {}};
  for (const Shape& shape : {Shape{4, 0, 6}, Shape{0, 3, 6}, Shape{0, 0, 0}}) {
    for (const auto& [source, target] : {std::pair(split, far), std::pair(far, split)}) {
      const BestPlan best = plan_best({}, shape, DataType::kFloat32, source, target).value();
      CHECK(simulate(shape, source, target, best.plan).ok());
      for (const auto& [rank, steps] : best.plan.ranks) {
        for (const Step& step : steps)
          CHECK(step.kind == StepKind::kZero);
      }
      DistAttr done = source;
      done.partial.clear();
      const auto compat = plan_compat(shape, done, {target.mesh, target.dims_mapping, {}});
      REQUIRE(compat.ok());
      CHECK(simulate(shape, done, {target.mesh, target.dims_mapping, {}}, *compat).ok());
    }
  }
  const DistAttr here{mesh_of({2}), {}, {}};
  const DistAttr there{mesh_of({2}, 1), {}, {Reduction::kSum}};
  CHECK(simulate({}, here, there, plan_best({}, {}, DataType::kBool, here, there)->plan).ok());
}

TEST_CASE("best planner: more messages than one resharding may have are refused, or go round") {
  // Moves rows to columns on other ranks. If all pieces are equal, they can move to the other ranks
  // first and be exchanged there.
  const auto turned = [](std::int64_t ranks, std::int64_t size) {
    const DistAttr source{mesh_of({ranks}), {0, -1}, {}};
    const DistAttr target{mesh_of({ranks}, static_cast<Rank>(ranks)), {-1, 0}, {}};
    return plan_best({}, {size, size}, DataType::kFloat32, source, target);
  };
  CHECK(turned(32, 33).ok());
  const Result<BestPlan> none = turned(1500, 1501);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kUnsupported);
  CHECK(none.error().message ==
        "takes 2250000 messages between ranks, over the 1048576 that one resharding may have");
  const Result<BestPlan> exchanged = turned(1500, 1500);
  REQUIRE(exchanged.ok());
}

TEST_CASE("best planner: messages are counted as they are made") {
  test_support::Random random(5);
  for (int i = 0; i < 200; ++i) {
    Shape shape;
    for (std::size_t dims = 1 + random.below(3); shape.size() < dims;)
      shape.push_back(static_cast<std::int64_t>(1 + random.below(9)));
    DistAttr source = random_attr(random, mesh_of({2, 4}), shape.size());
    DistAttr target = random_attr(random, mesh_of({3, 2}, 8), shape.size());
    source.partial.clear();
    target.partial.clear();
    ReshardPlan plan;
    CHECK(append_moves({}, shape, DataType::kFloat32, source, target, plan));
    std::int64_t received = 0;
    for (const auto& [rank, steps] : plan.ranks) {
      received += std::count_if(steps.begin(), steps.end(),
                                [](const Step& step) { return step.kind == StepKind::kRecv; });
    }
    CHECK(num_moves(shape, source, target) == received);
  }
}

TEST_CASE("best planner: a stop is heard among messages") {
  const DistAttr source{mesh_of({1024}), {0, -1}, {}};
  const DistAttr target{mesh_of({1024}, 1024), {-1, 0}, {}};
  std::stop_source stop;
  stop.request_stop();
  ReshardPlan plan;
  const Shape shape{1024, 1024};
  CHECK_FALSE(append_moves({}, shape, DataType::kFloat32, source, target, plan, stop.get_token()));
  CHECK(plan.empty());
  const auto stopped = plan_best({}, shape, DataType::kFloat32, source, target, stop.get_token());
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.error().code == ErrorCode::kStopped);
}

}  // namespace shardwright::planner_test
