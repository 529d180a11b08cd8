#include "search/redistribution/cheapest_path.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/nccl_costs.h"
#include "core/redistribution/cost/topology_costs.h"
#include "core/redistribution/placement/placement_notation.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::cheapest_path_test {

namespace {

using namespace shardwright::redistribution;
using Kind = Move::Kind;

Placement placed(const std::vector<std::string>& words, std::size_t num_dims) {
  return read_words(words, num_dims).value();
}

// Every axis has a latency of 10 us and 1 GB/s.
TopologyCosts equal_links(const MeshShape& mesh) {
  return TopologyCosts::make(mesh, std::vector<AxisLink>(mesh.size(), {10, 1})).value();
}

std::vector<Move::Kind> kinds(const Path& path) {
  std::vector<Move::Kind> kinds;
  for (const PathStep& step : path.steps)
    kinds.push_back(step.move.kind);
  return kinds;
}

}  // namespace

TEST_CASE("find_path: axes that leave one dimension together are gathered by one collective") {
  const TensorOnMesh tensor{{2, 4}, {64, 64}};
  const TopologyCosts links = equal_links(tensor.mesh);
  CollectiveStepCosts::Options options;
  options.launch_us = 100;
  const CollectiveStepCosts costs(links, options);
  const Path path =
      find_path(tensor, costs, {}, placed({"S(0)", "S(0)"}, 2), placed({"R", "R"}, 2));
  REQUIRE(kinds(path) == std::vector<Kind>{Kind::kAllGather});
  CHECK(path.steps[0].move.axes == Axes{0, 1});
  CHECK(path.peak_elements == 64 * 64 + 64 * 64 / 8);
  MoveRules single;
  single.groups = false;
  const Path two =
      find_path(tensor, costs, single, placed({"S(0)", "S(0)"}, 2), placed({"R", "R"}, 2));
  CHECK(two.steps.size() == 2);
  CHECK(two.cost > path.cost);
}

TEST_CASE("find_path: under NCCL's costs, too, axes are gathered and reduced together") {
  const TensorOnMesh tensor{{2, 2, 4}, {64, 64}};
  const NcclCosts links = NcclCosts::make(tensor.mesh, h100_nccl_config()).value();
  CollectiveStepCosts::Options options;
  options.is_monotone = false;
  const CollectiveStepCosts costs(links, options);
  const Path gather =
      find_path(tensor, costs, {}, placed({"S(0)", "R", "S(0)"}, 2), placed({"R", "R", "R"}, 2));
  REQUIRE(kinds(gather) == std::vector<Kind>{Kind::kAllGather});
  CHECK(gather.steps[0].move.axes == Axes{0, 2});
  const Path reduction = find_path(tensor, costs, {}, placed({"P(sum)", "P(sum)", "P(sum)"}, 2),
                                   placed({"R", "R", "R"}, 2));
  CHECK(reduction.num_collectives() == 1);
  CHECK(reduction.steps[0].move.axes.size() == 3);
}

TEST_CASE("find_path: axes of equal size change places by one message") {
  const TensorOnMesh tensor{{4, 4}, {1024, 1024}};
  const TopologyCosts links = equal_links(tensor.mesh);
  const CollectiveStepCosts costs(links, {});
  const Path path = find_path(tensor, costs, {}, placed({"S(0)[0]", "S(0)[1]"}, 2),
                              placed({"S(0)[1]", "S(0)[0]"}, 2));
  CHECK(kinds(path) == std::vector<Kind>{Kind::kPermute});
  CHECK(path.num_collectives() == 1);
}

TEST_CASE(
    "find_path: devices change places along any axes by one message, if parts stay the same") {
  const auto steps = [](const MeshShape& mesh, const Shape& shape,
                        const std::vector<std::string>& source,
                        const std::vector<std::string>& target) {
    const TensorOnMesh tensor{mesh, shape};
    const TopologyCosts links = equal_links(mesh);
    const CollectiveStepCosts costs(links, {});
    return kinds(
        find_path(tensor, costs, {}, placed(source, shape.size()), placed(target, shape.size())));
  };
  const std::vector<Kind> one{Kind::kPermute};
  CHECK(steps({2, 4}, {8192, 4096}, {"S(0)[1]", "S(0)[0]"}, {"S(0)", "S(0)"}) == one);
  CHECK(steps({2, 2, 4}, {1024, 1024}, {"S(0)", "S(0)", "R"}, {"R", "R", "S(0)"}) == one);
  CHECK(steps({2, 2, 2}, {1024, 1024}, {"S(0)[0]", "S(0)[1]", "S(0)[2]"},
              {"S(0)[1]", "S(0)[2]", "S(0)[0]"}) == one);
  CHECK(steps({2, 3, 6}, {36, 66}, {"S(0)", "S(0)", "S(1)"}, {"S(1)", "S(1)", "S(0)"}) == one);
  // With uneven pieces, or pieces of different dimensions, the two orders of shards are no
  // permutation of each other.
  CHECK(steps({2, 4}, {9, 4096}, {"S(0)[1]", "S(0)[0]"}, {"S(0)", "S(0)"}) != one);
  CHECK(steps({2, 4}, {8192, 4096}, {"S(0)", "S(1)"}, {"S(1)", "S(0)"}) != one);
}

TEST_CASE("find_path: axes of one device do nothing and cost nothing") {
  const TensorOnMesh tensor{{1, 4, 1}, {8, 8}};
  const TopologyCosts links = equal_links(tensor.mesh);
  const CollectiveStepCosts costs(links, {});
  const Path none = find_path(tensor, costs, {}, placed({"S(0)[0]", "S(0)[1]", "P(sum)"}, 2),
                              placed({"S(1)", "S(0)", "R"}, 2));
  CHECK(none.steps.empty());
  CHECK(none.cost == 0);
  const Path gather = find_path(tensor, costs, {}, placed({"S(0)[0]", "S(0)[1]", "R"}, 2),
                                placed({"P(sum)", "R", "S(1)"}, 2));
  CHECK(kinds(gather) == std::vector<Kind>{Kind::kAllGather});
}

TEST_CASE("find_path: nothing is done between equal placements") {
  const TensorOnMesh tensor{{2, 2}, {8}};
  const TopologyCosts links = equal_links(tensor.mesh);
  const CollectiveStepCosts costs(links, {});
  const Placement at = placed({"P(sum)", "S(0)"}, 1);
  const Path path = find_path(tensor, costs, {}, at, at);
  CHECK(path.found);
  CHECK(path.is_optimal);
  CHECK(path.steps.empty());
  CHECK(path.cost == 0);
  CHECK(path.peak_elements == 4);
}

TEST_CASE("find_path: a limit of memory forces other moves, and may leave none") {
  const TensorOnMesh tensor{{8}, {64, 64}};
  const TopologyCosts links = equal_links(tensor.mesh);
  CollectiveStepCosts::Options options;
  options.itemsize = 1;
  const CollectiveStepCosts costs(links, options);
  PathLimits limits;
  limits.elements = 2 * 64 * 64 / 8;
  const Path exchange =
      find_path(tensor, costs, {}, placed({"S(0)"}, 2), placed({"S(1)"}, 2), limits);
  CHECK(kinds(exchange) == std::vector<Kind>{Kind::kAllToAll});
  limits.elements -= 1;
  const Path none = find_path(tensor, costs, {}, placed({"S(0)"}, 2), placed({"S(1)"}, 2), limits);
  CHECK_FALSE(none.found);
  CHECK(none.steps.empty());
}

TEST_CASE("find_path: fewer collectives may be asked for than the cheapest path has") {
  const TensorOnMesh tensor{{4, 8}, {4096, 4096}};
  const TopologyCosts links =
      TopologyCosts::make(tensor.mesh, {{1, 1}, {1, 100}}).value();  // the first axis is slow
  CollectiveStepCosts::Options options;
  options.groups = false;
  const CollectiveStepCosts costs(links, options);
  const Placement source = placed({"P(sum)", "R"}, 2);
  const Placement target = placed({"R", "R"}, 2);
  const Path cheapest = find_path(tensor, costs, {}, source, target);
  CHECK(cheapest.num_collectives() > 1);
  PathLimits limits;
  limits.collectives = 1;
  const Path one = find_path(tensor, costs, {}, source, target, limits);
  CHECK(kinds(one) == std::vector<Kind>{Kind::kAllReduce});
  CHECK(one.cost > cheapest.cost);
  limits.collectives = 0;
  CHECK_FALSE(find_path(tensor, costs, {}, source, target, limits).found);
}

TEST_CASE(
    "find_path: a search that is cut short still has a path, and says that it may not be the "
    "cheapest") {
  const TensorOnMesh tensor{{2, 2, 2, 2}, {16, 16, 16, 16}};
  const DTensorCosts links = DTensorCosts::make(tensor.mesh, 8).value();
  const DTensorStepCosts costs(links, 4 * 16 * 16 * 16 * 16);
  const Placement source = placed({"S(0)", "S(1)", "S(2)", "S(3)"}, 4);
  const Placement target = placed({"S(3)", "S(2)", "S(1)", "S(0)"}, 4);
  PathLimits limits;
  limits.most_expanded = 2;
  const Path cut = find_path(tensor, costs, {}, source, target, limits);
  REQUIRE(cut.found);
  CHECK_FALSE(cut.is_optimal);
  CHECK(cut.steps.back().after == target);
  const Path best = find_path(tensor, costs, {}, source, target);
  CHECK(best.is_optimal);
  CHECK(best.cost < cut.cost);
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(find_path(tensor, costs, {}, source, target, {}, stop.get_token()).found);
}

TEST_CASE("find_path: a path's peak is that of its steps where rounding hides what moves cost") {
  const TensorOnMesh tensor{{3, 2, 2, 41}, {64, 64, 29}};
  const TopologyCosts links =
      TopologyCosts::make(tensor.mesh, {{2, 200}, {0x1p62, 25}, {1, 25}, {3, 2}}).value();
  CollectiveStepCosts::Options options;
  options.itemsize = 1;
  options.copy_bytes_per_us = 900e3;
  const CollectiveStepCosts costs(links, options);
  PathLimits limits;
  limits.elements = 10'000;
  const Path path = find_path(tensor, costs, {}, placed({"P(sum)", "S(2)", "S(1)", "S(0)"}, 3),
                              placed({"S(1)", "R", "S(2)", "S(2)"}, 3), limits);
  REQUIRE(path.found);
  std::int64_t most = 0;
  std::int64_t held =
      largest_box(tensor.shape, tensor.mesh, placed({"P(sum)", "S(2)", "S(1)", "S(0)"}, 3));
  for (const PathStep& step : path.steps) {
    const std::int64_t next = largest_box(tensor.shape, tensor.mesh, step.after);
    most = std::max(most, held + next);
    held = next;
  }
  CHECK(path.peak_elements == most);
}

TEST_CASE("find_path: DTensor's own example of a nested shard takes what its costs say") {
  const TensorOnMesh tensor{{2, 2}, {1024, 1024}};
  const DTensorCosts links = DTensorCosts::make(tensor.mesh, 8).value();
  const DTensorStepCosts costs(links, 4 * 1024 * 1024);
  const Path path =
      find_path(tensor, costs, {}, placed({"S(0)", "S(0)"}, 2), placed({"R", "S(0)"}, 2));
  // Either both axes are gathered and the inner one is cut again, or the inner axis shards another
  // dimension meanwhile.
  REQUIRE(path.found);
  CHECK(path.num_collectives() == 2);
  CHECK(path.steps.back().after == placed({"R", "S(0)"}, 2));
}

}  // namespace shardwright::cheapest_path_test
