// Finds the cheapest choice of strategies of a cost instance, and proves how good it is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"

namespace shardwright::operators {

enum class SolveStatus : std::uint8_t {
  kOptimal,     // proved: no choice is cheaper by more than rounding
  kFeasible,    // the budget ended before the proof
  kInfeasible,  // proved: no choice is within the limits
  kUnknown,     // the budget ended before anything was found
};

struct SolveResult {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by node; empty unless optimal or feasible
  double objective = 0;
  double lower_bound = 0;  // no choice is cheaper
  StopReason stopped_by = StopReason::kFinished;
};

struct SolveOptions {
  std::uint64_t seed = 0;
  // Called on the calling thread with every better choice and bound.
  std::function<void(const SolveResult&)> on_progress;
};

// Deterministic under a work limit for any number of workers; a deadline or a stop gives that up.
// Work is counted in strategy evaluations.
SolveResult solve(const CostInstance& instance, Executor& executor, Budget& budget,
                  const SolveOptions& options = {});

}  // namespace shardwright::operators
