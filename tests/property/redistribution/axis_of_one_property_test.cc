// A mesh axis of one device changes no costs, bytes or messages.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/redistribution/placement/placement_notation.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/redistribution/plan_redistribution.h"
#include "tests/support/redistribution/random_redistribution.h"
#include "tests/support/redistribution/random_transfer.h"

namespace shardwright::axis_of_one_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::redistribution;
using namespace shardwright::test_support;

// Returns the placement on a mesh with a new axis at `place`. Along this axis, the tensor is
// sharded, partial or neither.
Placement with_axis(Random& random, const Placement& from, std::size_t num_axes, std::size_t place,
                    std::size_t num_dims, bool partial) {
  std::vector<AxisPlacement> axes;
  std::vector<ShardOrder> order(num_dims);
  for (std::size_t dim = 0; dim < num_dims; ++dim) {
    order[dim].dim = dim;
    for (const std::uint8_t axis : from.axes_of(dim))
      order[dim].axes.push_back(static_cast<std::uint8_t>(axis < place ? axis : axis + 1));
  }
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    axes.push_back(from.on(axis));
  AxisPlacement added;
  const std::size_t choice = random.below(num_dims + 2);
  if (choice < num_dims) {
    added = AxisPlacement::shard(choice);
    Axes& sharding = order[choice].axes;
    sharding.insert(
        sharding.begin() + static_cast<std::ptrdiff_t>(random.below(sharding.size() + 1)),
        static_cast<std::uint8_t>(place));
  } else if (choice == num_dims && partial && from.commutes(ReduceOp::kSum)) {
    added = AxisPlacement::partial(ReduceOp::kSum);
  }
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(place), added);
  std::vector<ShardOrder> used;
  for (const ShardOrder& one : order) {
    if (!one.axes.empty()) used.push_back(one);
  }
  return Placement::make(axes, num_dims, used).value();
}

}  // namespace

TEST_CASE("axis of one: redistributions cost as much, by as many steps, with as much memory") {
  for (const std::uint64_t seed : seeds({1})) {
    Random random(seed);
    std::size_t with_steps = 0;
    for (int i = 0; i < 1'000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const RandomPair pair = random_pair(random);
      RedistributionCase request{pair.tensor.mesh, pair.tensor.shape, 4, pair.source, pair.target};
      RedistributionOptions options;
      RingModel rings;
      for (std::size_t axis = 0; axis < request.mesh.size(); ++axis)
        rings.links.push_back({0.1 * static_cast<double>(random.below(50)),
                               static_cast<double>(1 + random.below(50))});
      rings.groups = random.below(2) == 0;
      const bool use_rings = random.below(3) > 0;
      if (use_rings) options.model = rings;
      const auto expected = plan_redistribution(request, options);
      const std::size_t axes = request.mesh.size();
      const std::size_t place = random.below(axes + 1);
      const std::size_t dims = request.shape.size();
      request.source = with_axis(random, request.source, axes, place, dims, true);
      request.target = with_axis(random, request.target, axes, place, dims, true);
      request.mesh.insert(request.mesh.begin() + static_cast<std::ptrdiff_t>(place), 1);
      rings.links.insert(rings.links.begin() + static_cast<std::ptrdiff_t>(place), {50, 0.01});
      if (use_rings) options.model = rings;
      const auto found = plan_redistribution(request, options);
      REQUIRE(expected.ok() == found.ok());
      if (!found.ok()) continue;
      CHECK(found->path.cost == doctest::Approx(expected->path.cost).epsilon(1e-12));
      CHECK(found->path.steps.size() == expected->path.steps.size());
      CHECK(found->peak_bytes == expected->peak_bytes);
      with_steps += found->path.steps.empty() ? 0U : 1U;
    }
    CHECK(with_steps > 300);
  }
}

TEST_CASE("axis of one: transfers have the same plan") {
  for (const std::uint64_t seed : seeds({2})) {
    Random random(seed);
    for (int i = 0; i < 200; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      TransferSizes sizes;
      sizes.hosts = random.below(2) == 0;
      const TransferProblem problem = random_transfer(random, sizes);
      TransferSpec more{problem.meshes(), problem.tensors(), problem.hosts()};
      for (TransferTensor& tensor : more.tensors) {
        for (TensorLayout* layout : {&tensor.source, &tensor.target}) {
          const std::size_t axes = problem.meshes()[layout->mesh].shape.size();
          layout->placement =
              with_axis(random, layout->placement, axes, 0, tensor.shape.size(), true);
        }
      }
      for (RankMesh& mesh : more.meshes)
        mesh.shape.insert(mesh.shape.begin(), 1);
      const auto expected = transfer_tensors(problem, {});
      const auto found = transfer_tensors(problem_of(std::move(more)), {});
      REQUIRE(expected.ok());
      REQUIRE(found.ok());
      CHECK(found->plan.transfers == expected->plan.transfers);
      CHECK(found->plan.bounds == expected->plan.bounds);
      CHECK(found->busiest == expected->busiest);
      CHECK(found->messages == expected->messages);
    }
  }
}

}  // namespace shardwright::axis_of_one_property_test
