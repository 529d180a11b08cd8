// The ways in which an operator can run on a mesh, for all operators of one kind and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"
#include "core/operators/aten/roofline.h"
#include "core/status.h"

namespace shardwright::operators {

// The placement of one tensor by strategy. Many strategies share a placement, so placements are
// numbered.
struct PlacementColumn {
  std::vector<redistribution::Placement> distinct;  // in order of appearance
  std::vector<std::uint32_t> index;                 // by strategy, into `distinct`

  const redistribution::Placement& of(std::size_t strategy) const {
    return distinct[index[strategy]];
  }
};

// Thread safety: a value.
struct StrategyClass {
  // By output or input; none if the value is no tensor or its placement does not matter.
  std::vector<std::optional<PlacementColumn>> outputs;
  std::vector<std::optional<PlacementColumn>> inputs;
  std::vector<double> compute_us;  // by strategy
  // Only in classes of movers (AtenVariables), by strategy: bytes held while moving, 0 if it stays.
  std::vector<std::int64_t> moving_bytes;
  // Only in classes of movers whose consumer hides a part of the time of moving: this time.
  std::vector<double> moving_us;

  std::size_t size() const { return compute_us.size(); }
};

// All combinations of the rule's entries, one entry per axis, in which every device has elements
// and the devices divide AxisEntry::divides. Of combinations with equal placements only the first
// is kept. If several axes shard a dimension, the earlier axis cuts first. Axes of one device are
// replicated. Errors: kUnsupported, with an empty `where`, for more than 20,000 strategies.
// O(entries^axes).
Result<StrategyClass> make_strategies(const AtenGraph& graph, const AtenNode& node,
                                      const redistribution::MeshShape& mesh,
                                      const ComputeDevice& device);

// The strategies of a mover from placements of `source` to placements of `target`. For each target
// there is one strategy per distinct number of bytes that moving can take or, if `times` is given,
// per distinct pair of bytes and time. Input and output both have the target placement.
StrategyClass make_mover_strategies(const AtenTensor& tensor, const PlacementColumn& source,
                                    const PlacementColumn& target,
                                    const redistribution::MeshShape& mesh,
                                    CollectiveBackend backend, TransitionCosts* times = nullptr);

// The strategies of an output of the graph: its only input, replicated or sharded.
Result<StrategyClass> make_output_strategies(const AtenTensor& tensor,
                                             const redistribution::MeshShape& mesh);

}  // namespace shardwright::operators
