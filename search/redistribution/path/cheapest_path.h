// The cheapest sequence of moves from one placement to another.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

#include "search/redistribution/cost/step_costs.h"
#include "search/redistribution/path/path.h"
#include "search/redistribution/path/visit_moves.h"

namespace shardwright::redistribution {

// Thread safety: a value.
struct PathLimits {
  // A device may hold no more elements in the course of a step, input and output together.
  std::int64_t elements = std::numeric_limits<std::int64_t>::max();
  // No more steps that communicate.
  std::optional<std::uint32_t> collectives;
  // Placements that a search expands before it gives up. A search expands about a million a second;
  // a 2x2x2x2 mesh with 4 dimensions has 1,457 placements without partial axes.
  std::int64_t most_expanded = std::int64_t{1} << 18;
};

// A* over placements with the bound of CostEstimate. Of paths of
// equal cost, the one of less memory wins, then the one of fewer steps. If the search reaches
// `most_expanded`, it returns direct_path(), which is marked as perhaps not optimal.
// Axes of one device do nothing, and count as replicated in the path: it leads from
// effective_placement() of the source to that of the target.
// Preconditions: a checked mesh, placements of the shape. Deterministic. Stops early, without a
// path, at a stop request. Cost: O(placements * moves).
Path find_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
               const Placement& source, const Placement& target, const PathLimits& limits = {},
               const std::stop_token& stop = {});

// The cheapest path to any placement without partial axes, by moves that reduce, gather or exchange
// only.
Path find_reducing_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
                        const Placement& source);

// The paths that no other one beats in both cost and memory, from the cheapest to the one that
// needs least memory.
std::vector<Path> pareto_paths(const TensorOnMesh& tensor, const StepCosts& costs,
                               const MoveRules& rules, const Placement& source,
                               const Placement& target, PathLimits limits = {},
                               const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
