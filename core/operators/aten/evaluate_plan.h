// The independent verifier of plans for ATen graphs, and the memory that plans need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"

namespace shardwright::operators {

// The bytes on a device at one moment, by purpose.
// Thread safety: a value.
struct AtenMemory {
  std::int64_t parameters = 0;  // including buffers
  std::int64_t optimizer_states = 0;
  std::int64_t gradients = 0;    // in the placement of the graph output
  std::int64_t inputs = 0;       // including tangents
  std::int64_t activations = 0;  // all other results of operators
  std::int64_t moved = 0;        // copies for single operators, and buffers of moves

  std::int64_t total() const {
    return parameters + optimizer_states + gradients + inputs + activations + moved;
  }
  friend bool operator==(const AtenMemory&, const AtenMemory&) = default;
};

// Returns the placement in which a consumer takes a tensor.
MaybePlacement taken_placement(const AtenGraph& graph, const AtenPlan& plan,
                               const TakenTensor& taken);

// Returns true if the tensor has a placement and it differs from `target`.
bool is_moved(const AtenPlan& plan, const TensorRef& ref, const MaybePlacement& target);

// Returns the bytes of one copy.
std::int64_t held_bytes(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held);

// Returns the memory at every moment of the TimeLine: the sums over held_tensors(). O(moments).
std::vector<AtenMemory> memory_by_moment(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states);

// Returns, for every time point, the memory at its moment with the largest total. O(moments).
std::vector<AtenMemory> memory_over_time(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states);

// The cost models for the evaluation of a plan.
struct AtenJudgement {
  const ComputeDevice& device;
  TransitionCosts& transitions;
  std::int64_t optimizer_states = 2;  // copies per parameter, as in held_tensors()
};

struct AtenEvaluation {
  double compute_us = 0;
  double arithmetic_us = 0;  // part of compute_us: operators limited by arithmetic
  double redistribute_us = 0;
  double hidden_us = 0;  // part of redistribute_us that overlaps with operators
  double total_us() const { return compute_us + redistribute_us - hidden_us; }
  std::int64_t peak_bytes = 0;
  std::uint32_t peak_at = 0;      // time point of the peak
  std::uint32_t peak_moment = 0;  // moment of the peak in the TimeLine
  // The largest sum over one operator's redistributed inputs; part of the peak.
  std::int64_t most_moved_bytes = 0;
  std::vector<std::string> violations;  // "/nodes/3: ..."; empty if the plan is valid
};

// Recomputes times and memory from the graph. Checks that every operator follows its rule, that
// every device has elements of every tensor, that gradients are placed like parameters and tangents
// like outputs, that tensors lie and move as the roles of the axes allow, and that the times in the
// plan are right. Independent of the search. Precondition:
// the plan has as many nodes and outputs as the graph, and as many placements per node.
AtenEvaluation evaluate(const AtenGraph& graph, const AtenPlan& plan,
                        const AtenJudgement& judgement);

}  // namespace shardwright::operators
