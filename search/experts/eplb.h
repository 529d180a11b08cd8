// DeepSeek's EPLB, decision for decision.
#pragma once

#include "core/experts/expert_plan.h"
#include "core/experts/expert_problem.h"
#include "search/executor.h"

namespace shardwright::experts {

// Returns EPLB's placement for the mean of all windows. Loads are rounded to float32, and loads of
// packs are summed in float32. Of equal loads the first one goes first; EPLB leaves this open.
// EPLB knows no speeds, and may put two replicas of an expert on a GPU. Groups stay on nodes if
// every node gets the same number of groups. O(layers * (slots log slots)).
// Source: `rebalance_experts` in eplb.py, https://github.com/deepseek-ai/EPLB.
Placement place_eplb(const ExpertProblem& problem, Executor& executor);

}  // namespace shardwright::experts
