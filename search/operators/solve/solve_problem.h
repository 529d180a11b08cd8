// Solves an operator problem: a cost instance with a soft memory budget and a cost limit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/solve.h"

namespace shardwright::operators {

// Why no choice is within the memory limit.
struct MemoryShortage {
  std::int64_t limit_bytes = 0;    // the lowest limit of the memory time points
  std::int64_t minimum_bytes = 0;  // every choice needs at least this much
  bool minimum_is_exact = false;   // some choice needs no more than `minimum_bytes`
  // The peak of the lightest known choice; empty if no choice is known.
  std::optional<std::int64_t> enough_bytes;
};

struct ProblemSolution {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by operator; empty unless optimal or feasible
  double objective = 0;               // includes `overbudget_cost`
  double overbudget_cost = 0;         // price of exceeding the soft budget
  double lower_bound = 0;
  std::vector<double> prices;              // SolveResult::prices of the last instance solved
  std::optional<MemoryShortage> shortage;  // set only if memory is why it is infeasible
  std::int64_t peak_bytes = 0;             // over the memory time points
  StopReason stopped_by = StopReason::kFinished;
};

struct SolutionProgress {
  std::vector<std::uint32_t> choice;  // by operator; empty: none found yet
  double objective = 0;
  double lower_bound = 0;
};

struct ProblemSolveOptions {
  std::uint64_t seed = 0;
  // For plans of ATen graphs only. A search ends once its plan exceeds the bound of all plans by at
  // most this fraction of its cost.
  double gap = 0;
  std::function<void(const SolutionProgress&)> on_progress;  // called on the calling thread
  SolverParameters parameters;
};

// Solves the problem. A soft budget is solved as a sequence of instances with falling hard limits.
// Every returned choice has passed evaluate(). Determinism and budget are those of solve().
ProblemSolution solve_problem(const OperatorProblem& problem, Executor& executor, Budget& budget,
                              const ProblemSolveOptions& options = {});

}  // namespace shardwright::operators
