// The independent verifier of plans for graphs of PyTorch's operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/aten/plan/aten_plan.h"
#include "core/operators/aten/plan/transition_costs.h"

namespace shardwright::operators {

// What a plan is judged by.
struct AtenJudgement {
  const ComputeDevice& device;
  TransitionCosts& transitions;
  std::int64_t optimizer_states = 2;  // as held_tensors()
};

struct AtenEvaluation {
  double compute_us = 0;
  double arithmetic_us = 0;  // of it, in operators whose flops take longer than their traffic
  double redistribute_us = 0;
  double hidden_us = 0;  // of it, behind operators
  double total_us() const { return compute_us + redistribute_us - hidden_us; }
  std::int64_t peak_bytes = 0;
  std::uint32_t peak_at = 0;      // the time point
  std::uint32_t peak_moment = 0;  // of it, by the TimeLine
  // The most that one operator's redistributed inputs take; they are part of the peak.
  std::int64_t most_moved_bytes = 0;
  std::vector<std::string> violations;  // "/nodes/3: ..."; empty if the plan is valid
};

// Recomputes times and memory from the graph, and checks that every operator follows its rule, that
// no device is left without elements, that gradients lie like parameters and tangents like outputs,
// and that the times in the plan are right. Knows nothing of the search.
// Precondition: as many nodes and outputs as the graph has, and on each node as many placements.
AtenEvaluation evaluate(const AtenGraph& graph, const AtenPlan& plan,
                        const AtenJudgement& judgement);

}  // namespace shardwright::operators
