// Solves cost instances; finds the least memory that any choice of an instance needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

struct LeastMemory {
  std::int64_t bytes = 0;              // no choice has a lower peak
  bool reached = false;                // some choice has the peak `bytes`
  std::optional<std::int64_t> enough;  // peak of the lightest choice found
  bool impossible = false;             // every choice contains something forbidden
};

// Finds the least peak over the first `num_time_points` time points, ignoring limits and costs.
// Forbidden strategies and pairs stay forbidden. Exact for one time point unless the budget ends
// first. For several time points, a lower bound that some choice mostly reaches.
LeastMemory least_memory(const CostInstance& instance, std::size_t num_time_points,
                         Executor& executor, Budget& budget);

enum class SolveStatus : std::uint8_t {
  kOptimal,     // proved: no choice is cheaper by more than rounding
  kFeasible,    // a choice without a proof that it is optimal
  kInfeasible,  // proved: no choice is within the limits
  kUnknown,     // no choice was found, and no proof that there is none
  kWithinGap,   // proved: no choice is cheaper by more than the gap that was asked for
};

struct SolveResult {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by node; empty unless optimal or feasible
  double objective = 0;
  double lower_bound = 0;  // no choice costs less
  // Prices of bytes with a good bound, by time point with a limit. Empty if no prices were needed.
  std::vector<double> prices;
  StopReason stopped_by = StopReason::kFinished;
};

struct SolveOptions {
  std::uint64_t seed = 0;
  // Only choices that cost less are sought. For callers who know a choice of this cost: kInfeasible
  // then means that no cheaper choice exists.
  double cutoff = kForbidden;
  // First prices, by time point with a limit; empty if none are known.
  std::vector<double> prices;
  // Called on the calling thread with every better choice or bound.
  std::function<void(const SolveResult&)> on_progress;
};

// Finds the cheapest choice within the limits. The result depends on seed and work limit, not on
// the number of workers, unless a deadline or a stop ends the search. Work: strategy evaluations.
SolveResult solve(const CostInstance& instance, Executor& executor, Budget& budget,
                  const SolveOptions& options = {}, const SolverParameters& parameters = {});

}  // namespace shardwright::operators
