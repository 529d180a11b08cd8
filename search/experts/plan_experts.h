// Plans where experts go: EPLB's way, or by search with lower bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/experts/bound.h"
#include "core/experts/expert_plan.h"
#include "core/experts/expert_problem.h"
#include "core/stop_reason.h"
#include "search/budget.h"
#include "search/executor.h"

namespace shardwright::experts {

// Tuning numbers of best mode.
struct BestParameters {
  // Work for all layers together, so that a plan of many layers takes about 10 ms on two cores.
  std::size_t effort = 1;               // factor of all numbers below
  std::size_t slots_kicked = 100'000;   // kicks of a layer or node times its slots
  std::size_t window_kicks = 2;         // of a layer or node with several windows
  std::size_t pair_moves = 240'000;     // moves of replicas on GPUs of two slots
  std::size_t pair_iterations = 4'000;  // subgradient steps of pairs_bound()
};

struct PlanRules {
  PlanTerms terms;  // without EPLB's placement
  std::optional<std::size_t> max_moves;
  BestParameters best;
};

// Moves and the time of all layers that they reach.
struct MovesPoint {
  std::size_t moves = 0;
  double time = 0;
};

struct PlannedExperts {
  ExpertPlan plan;
  // With an old placement in best mode: what moves buy, from the fewest moves on; convex.
  std::vector<MovesPoint> front;
  PlanTerms terms;  // with EPLB's placement, to check the plan
  StopReason stop = StopReason::kFinished;
};

// Returns EPLB's plan with its bounds.
PlannedExperts plan_eplb(const ExpertProblem& problem, const PlanRules& rules, Executor& executor,
                         const Budget& budget = Budget());

// Searches every layer: a greedy placement, local search with kicks, EPLB's placement where that is
// better, and all placements where a layer is small. With several windows, goes on from
// the plan for their mean. With an old placement, chooses on the front of moves and time. The
// answer does not depend on the number of threads. If the budget is interrupted, layers have the
// best placement found so far, which is a greedy one or EPLB's where nothing was searched.
PlannedExperts plan_best(const ExpertProblem& problem, const PlanRules& rules, Executor& executor,
                         const Budget& budget);

}  // namespace shardwright::experts
