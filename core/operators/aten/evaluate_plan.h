// The independent verifier of plans for graphs of PyTorch's operators, and their memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/held_tensors.h"

namespace shardwright::operators {

// Bytes of a device at one moment, by purpose.
// Thread safety: a value.
struct AtenMemory {
  std::int64_t parameters = 0;  // and buffers
  std::int64_t optimizer_states = 0;
  std::int64_t gradients = 0;    // in the placement in which they leave the graph
  std::int64_t inputs = 0;       // and tangents
  std::int64_t activations = 0;  // all other results of operators
  std::int64_t moved = 0;        // copies for single operators, and buffers of redistributions

  std::int64_t total() const {
    return parameters + optimizer_states + gradients + inputs + activations + moved;
  }
  friend bool operator==(const AtenMemory&, const AtenMemory&) = default;
};

// The placement in which a consumer takes a tensor.
MaybePlacement taken_placement(const AtenGraph& graph, const AtenPlan& plan,
                               const TakenTensor& taken);

// Returns true if the placement of the tensor differs from `target`. A tensor without a placement
// is never moved.
bool is_moved(const AtenPlan& plan, const TensorRef& ref, const MaybePlacement& target);

// The bytes of one copy.
std::int64_t held_bytes(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held);

// By moment of the TimeLine: the sums of held_tensors(). O(moments).
std::vector<AtenMemory> memory_by_moment(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states);

// By time point: the memory at the moment of the time point at which the most is held. O(moments).
std::vector<AtenMemory> memory_over_time(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states);

// The models by which a plan is evaluated.
struct AtenJudgement {
  const ComputeDevice& device;
  TransitionCosts& transitions;
  std::int64_t optimizer_states = 2;  // as held_tensors()
};

struct AtenEvaluation {
  double compute_us = 0;
  double arithmetic_us = 0;  // part of compute_us: operators whose flops take longer than traffic
  double redistribute_us = 0;
  double hidden_us = 0;  // part of redistribute_us, behind operators
  double total_us() const { return compute_us + redistribute_us - hidden_us; }
  std::int64_t peak_bytes = 0;
  std::uint32_t peak_at = 0;      // the time point
  std::uint32_t peak_moment = 0;  // of it, by the TimeLine
  // The most that one operator's redistributed inputs take; they are part of the peak.
  std::int64_t most_moved_bytes = 0;
  std::vector<std::string> violations;  // "/nodes/3: ..."; empty if the plan is valid
};

// Recomputes times and memory from the graph, and checks that every operator follows its rule, that
// no device is left without elements, that gradients are placed like parameters and tangents like
// outputs, and that the times in the plan are right. Independent of the search. Precondition: the
// plan has as many nodes and outputs as the graph, and each node as many placements.
AtenEvaluation evaluate(const AtenGraph& graph, const AtenPlan& plan,
                        const AtenJudgement& judgement);

}  // namespace shardwright::operators
