// Finds the cheapest choice of strategies of a cost instance, and proves how good it is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/parameters/solver_parameters.h"

namespace shardwright::operators {

enum class SolveStatus : std::uint8_t {
  kOptimal,     // proved: no choice is cheaper by more than rounding
  kFeasible,    // a choice, without a proof that it is optimal
  kInfeasible,  // proved: no choice is within the limits
  kUnknown,     // no choice was found, and no proof that there is none
};

struct SolveResult {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by node; empty unless optimal or feasible
  double objective = 0;
  double lower_bound = 0;  // no choice is cheaper
  // By time point with a limit, what a byte there is worth: prices that gave a good bound. Empty if
  // none was sought.
  std::vector<double> prices;
  StopReason stopped_by = StopReason::kFinished;
};

struct SolveOptions {
  std::uint64_t seed = 0;
  // Only choices that cost less are sought: kInfeasible then means that there is none. For those
  // who know a choice of this cost.
  double cutoff = kForbidden;
  // By time point with a limit, prices to start from; empty if none are known.
  std::vector<double> prices;
  // Called on the calling thread with every better choice and bound.
  std::function<void(const SolveResult&)> on_progress;
};

// The result depends on seed and work limit, not on the number of workers, unless a
// deadline or a stop ends the search. Work is counted in strategy evaluations.
SolveResult solve(const CostInstance& instance, Executor& executor, Budget& budget,
                  const SolveOptions& options = {}, const SolverParameters& parameters = {});

}  // namespace shardwright::operators
