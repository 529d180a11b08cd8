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

// Where one tensor lies under every strategy. Many strategies agree about a tensor, so placements
// are numbered.
struct PlacementColumn {
  std::vector<redistribution::Placement> distinct;  // in order of appearance
  std::vector<std::uint32_t> index;                 // by strategy, into `distinct`

  const redistribution::Placement& of(std::size_t strategy) const {
    return distinct[index[strategy]];
  }
};

// Thread safety: a value.
struct StrategyClass {
  // By tensor; none if it is no tensor or its placement does not matter.
  std::vector<std::optional<PlacementColumn>> outputs;
  std::vector<std::optional<PlacementColumn>> inputs;
  std::vector<double> compute_us;  // by strategy
  // Of the class of a mover only (AtenVariables), by strategy: bytes while it moves, 0 if it stays.
  std::vector<std::int64_t> moving_bytes;
  // Of those whose consumer hides a part of the time that moving takes: this time.
  std::vector<double> moving_us;

  std::size_t size() const { return compute_us.size(); }
};

// All combinations of the rule's entries, one per axis, that leave no device without elements and
// respect what an entry divides; of combinations with equal placements the first. Where axes shard
// one dimension, the earlier one cuts first. Axes of one device are replicated. Errors:
// kUnsupported for more than 20,000 strategies. The place is left to the caller.
// O(entries^axes).
Result<StrategyClass> make_strategies(const AtenGraph& graph, const AtenNode& node,
                                      const redistribution::MeshShape& mesh,
                                      const ComputeDevice& device);

// The ways of a tensor from placements of `source` to those of `target`: for each of the latter,
// one for each number of bytes that moving it can take, and for each time with these bytes if
// `times` is given. Input and output both lie like the target.
StrategyClass make_mover_strategies(const AtenTensor& tensor, const PlacementColumn& source,
                                    const PlacementColumn& target,
                                    const redistribution::MeshShape& mesh,
                                    CollectiveBackend backend, TransitionCosts* times = nullptr);

// A tensor that leaves the graph: replicated or sharded, as its only input.
Result<StrategyClass> make_output_strategies(const AtenTensor& tensor,
                                             const redistribution::MeshShape& mesh);

}  // namespace shardwright::operators
