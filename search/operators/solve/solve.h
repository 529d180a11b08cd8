// The least memory that any choice of a cost instance needs, for instances whose limits are too
// low.
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
  bool reached = false;                // some choice has this peak
  std::optional<std::int64_t> enough;  // the peak of the lightest choice that was found
  bool impossible = false;             // every choice takes something forbidden
};

// The least peak over the first `num_time_points` time points, without any limit. Costs do not
// count, but forbidden strategies and pairs stay forbidden. Exact for one time point unless the
// budget ends first; otherwise a lower bound that is mostly reached.
LeastMemory least_memory(const CostInstance& instance, std::size_t num_time_points,
                         Executor& executor, Budget& budget);

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
  // Prices of bytes that gave a good bound, by time point with a limit. Empty if none were sought.
  std::vector<double> prices;
  StopReason stopped_by = StopReason::kFinished;
};

struct SolveOptions {
  std::uint64_t seed = 0;
  // Only choices that cost less are sought, for callers who know a choice of this cost. kInfeasible
  // then means that no cheaper choice exists.
  double cutoff = kForbidden;
  // By time point with a limit, prices to start from; empty if none are known.
  std::vector<double> prices;
  // Called on the calling thread with every better choice and bound.
  std::function<void(const SolveResult&)> on_progress;
};

// Finds the cheapest choice. The result depends on seed and work limit, not on the number of
// workers, unless a deadline or a stop ends the search. Work is counted in strategy evaluations.
SolveResult solve(const CostInstance& instance, Executor& executor, Budget& budget,
                  const SolveOptions& options = {}, const SolverParameters& parameters = {});

}  // namespace shardwright::operators
