// Finds the optimal choice of a model with many strategies by looking at few of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/choice_sieve.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

struct SievedSolution {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t>
      choice;  // by variable, of its choices; empty unless optimal or feasible
  double objective = 0;
  double lower_bound = 0;
  StopReason stopped_by = StopReason::kFinished;
  std::uint64_t kept = 0;  // choices of the last problem that was solved
};

enum class SieveGoal : std::uint8_t {
  kOptimum,
  kAnyPlan,  // good and quick: for those who will not take it anyway
};

// Bounds choices by messages, solves the problem of those near the bound, and proves that no other
// choice can be part of a better plan: its bound is above the cost that was found. Without a memory
// limit. Deterministic and budgeted as solve_problem().
Result<SievedSolution> sieved_search(const AtenModel& model, ChoiceSieve& sieve, Executor& executor,
                                     Budget& budget, const ProblemSolveOptions& options,
                                     SieveGoal goal = SieveGoal::kOptimum,
                                     const SieveParameters& parameters = {});

}  // namespace shardwright::operators
