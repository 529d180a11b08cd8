// What a device holds while a graph runs by a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/aten/memory/held_tensors.h"
#include "core/operators/aten/plan/aten_plan.h"

namespace shardwright::operators {

// Bytes of a device at one moment, by what they are for.
// Thread safety: a value.
struct AtenMemory {
  std::int64_t parameters = 0;  // and buffers
  std::int64_t optimizer_states = 0;
  std::int64_t gradients = 0;    // once they lie as they leave the graph
  std::int64_t inputs = 0;       // and tangents
  std::int64_t activations = 0;  // all other results of operators
  std::int64_t moved = 0;        // copies for single operators, and buffers of redistributions

  std::int64_t total() const {
    return parameters + optimizer_states + gradients + inputs + activations + moved;
  }
  friend bool operator==(const AtenMemory&, const AtenMemory&) = default;
};

// The placement that a consumer takes a tensor in.
MaybePlacement taken_placement(const AtenGraph& graph, const AtenPlan& plan,
                               const TakenTensor& taken);

// Returns true if the tensor lies otherwise than `target` says. A tensor without a placement has
// nothing to move.
bool is_moved(const AtenPlan& plan, const TensorRef& ref, const MaybePlacement& target);

// The bytes of one copy.
std::int64_t held_bytes(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held);

// By moment of the TimeLine: the sums of held_tensors(). O(moments).
std::vector<AtenMemory> memory_by_moment(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states);

// By time point: that of its moments at which most is held. O(moments).
std::vector<AtenMemory> memory_over_time(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states);

}  // namespace shardwright::operators
