// The ways in which operators of one kind and shape can run on a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"
#include "core/operators/aten/roofline.h"
#include "core/status.h"

namespace shardwright::operators {

// The placement of one tensor under each strategy. Strategies may share one.
struct PlacementColumn {
  std::vector<redistribution::Placement> distinct;  // in order of appearance
  std::vector<std::uint32_t> index;                 // by strategy: index into `distinct`

  const redistribution::Placement& of(std::size_t strategy) const {
    return distinct[index[strategy]];
  }
};

// The strategies of all variables of one class. Thread safety: a value.
struct StrategyClass {
  // By output or input; empty if the value is not a tensor or its placement does not matter.
  std::vector<std::optional<PlacementColumn>> outputs;
  std::vector<std::optional<PlacementColumn>> inputs;
  std::vector<double> compute_us;  // by strategy
  // For movers (AtenVariables) only, by strategy: bytes held while the tensor moves; 0 if it stays.
  std::vector<std::int64_t> moving_bytes;
  // For movers whose consumer hides a part of the time of moving, by strategy: the time of moving.
  std::vector<double> moving_us;

  std::size_t size() const { return compute_us.size(); }
};

// Makes all combinations of the rule's entries, one entry per axis, in which every device has
// elements and AxisEntry::divides is a multiple of the number of devices. Keeps only the first of
// combinations with equal placements. If several axes shard a dimension, the earlier axis cuts
// first. Tensors are replicated along axes of size 1. `entries`: by axis, the entries to combine;
// none: all of them. Errors: kUnsupported, with an empty `where`, for more than 20,000 strategies.
// O(entries^axes).
Result<StrategyClass> make_strategies(const AtenGraph& graph, const AtenNode& node,
                                      const redistribution::MeshShape& mesh,
                                      const ComputeDevice& device,
                                      std::span<const std::vector<std::uint32_t>> entries = {});

// Makes the strategies of a node that moves a tensor from a placement of `source` to one of
// `target`. Each target placement has one strategy for every distinct number of bytes that a move
// to this placement can take or, if `times` is given, for every distinct pair of bytes and time.
// A strategy names the target placement for both its input and its output.
StrategyClass make_mover_strategies(const AtenTensor& tensor, const PlacementColumn& source,
                                    const PlacementColumn& target,
                                    const redistribution::MeshShape& mesh,
                                    CollectiveBackend backend, TransitionCosts* times = nullptr);

// Makes the strategies of an output of the graph: its only input is replicated or sharded. Entry 0
// replicates, entry d + 1 shards dimension d.
Result<StrategyClass> make_output_strategies(
    const AtenTensor& tensor, const redistribution::MeshShape& mesh,
    std::span<const std::vector<std::uint32_t>> entries = {});

}  // namespace shardwright::operators
