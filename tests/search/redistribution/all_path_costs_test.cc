#include "search/redistribution/all_path_costs.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/redistribution/cost/topology_costs.h"
#include "core/redistribution/placement/placement.h"
#include "search/redistribution/cheapest_path.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::all_path_costs_test {

namespace {

using namespace shardwright::redistribution;

// Returns all placements of two dimensions on the mesh, including partial sums on any axis.
std::vector<Placement> all_placements(const MeshShape& mesh) {
  std::vector<Placement> placements{Placement()};
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    std::vector<Placement> longer;
    for (const Placement& placement : placements) {
      longer.push_back(placement);
      longer.push_back(placement.with_shard(axis, 0));
      longer.push_back(placement.with_shard(axis, 1));
      longer.push_back(placement.with_partial(axis, ReduceOp::kSum));
    }
    placements = longer;
  }
  return placements;
}

bool becomes_partial(const Placement& source, const Placement& target, std::size_t axes) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (target.is_partial(axis) && !source.is_partial(axis)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("all path costs: each is that of the path which a search for the pair finds") {
  for (const MeshShape& mesh : {MeshShape{2, 2, 2}, MeshShape{4, 2, 1}}) {
    const TopologyCosts links = TopologyCosts::make(mesh, {{3, 50}, {2, 100}, {1, 300}}).value();
    CollectiveStepCosts::Options options;
    options.groups = false;
    options.copy_bytes_per_us = 1e5;
    const auto costs = std::make_shared<const CollectiveStepCosts>(links, options);
    const TensorOnMesh tensor{mesh, {64, 4096}};
    AllPathCosts all(tensor, costs);
    const std::vector<Placement> placements = all_placements(mesh);
    const std::vector<double> table = all.table(placements, placements);
    MoveRules rules;
    rules.groups = false;
    for (std::size_t s = 0; s < placements.size(); ++s) {
      for (std::size_t t = 0; t < placements.size(); ++t) {
        const double found = table[s * placements.size() + t];
        const Placement source = effective_placement(mesh, placements[s]);
        const Placement target = effective_placement(mesh, placements[t]);
        if (becomes_partial(source, target, mesh.size())) {
          CHECK(found == AllPathCosts::kNoPath);
          continue;
        }
        const Path path = find_path(tensor, *costs, rules, source, target);
        // find_path() may also reduce a sum and make the tensor partial again.
        if (target.has_partial()) {
          CHECK(found >= path.cost * (1 - 1e-9));
        } else {
          CHECK(std::abs(found - path.cost) <= 1e-9 * path.cost);
        }
      }
    }
  }
}

}  // namespace shardwright::all_path_costs_test
