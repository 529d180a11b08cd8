// Plans how a graph of PyTorch's operators is sharded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/operators/aten/evaluate_plan.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Counters of the work done; the same for any machine and number of threads.
struct AtenCounters {
  std::size_t classes = 0;     // distinct kinds of variables
  std::size_t strategies = 0;  // of all variables
  std::size_t edges = 0;
  std::size_t transfers = 0;    // distinct kinds of edges
  std::size_t transitions = 0;  // entries of all transfers: pairs of placements
  std::uint64_t kept = 0;       // number of choices of the last problem solved
};

struct AtenSolution {
  SolveStatus status = SolveStatus::kUnknown;
  // Both only if the status is optimal or feasible. The evaluation has no violations.
  std::optional<AtenPlan> plan;
  AtenEvaluation evaluation;
  double lower_bound_us = 0;
  // Time of the plan found without the memory limit, if that plan exceeds the limit.
  std::optional<double> without_limit_us;
  // Set if no plan was found and memory is the reason.
  std::optional<MemoryShortage> shortage;
  StopReason stopped_by = StopReason::kFinished;
  AtenCounters counters;
};

// Errors: those of build_model; kVerificationFailed if evaluate() disagrees with the search. The
// result depends on the seed and the work limit, not on the number of workers, unless a deadline or
// a stop ends the search.
Result<AtenSolution> solve_plan(const AtenGraph& graph, const AtenRequest& request,
                                TransitionCosts& transitions, Executor& executor, Budget& budget,
                                const ProblemSolveOptions& options = {});

}  // namespace shardwright::operators
