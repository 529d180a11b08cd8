// Finds the optimal choice of a model with many strategies by looking at few of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of sieved_search().
// Thread safety: a value.
struct SieveParameters {
  // Sweeps of messages before the first look, and before each further one. The bound is mostly
  // within a percent of the optimum after five sweeps; each costs a look at all tables.
  int first_sweeps = 6;
  int more_sweeps = 12;
  // At first, choices whose bound is within this part of the bound of all. Halved while that keeps
  // more than `first_choices` per variable: the first problem must be quick.
  double first_part = 0.01;
  double first_choices = 8;
  // Without a proof, or without a plan, the part grows by this from round to round.
  double part_growth = 4;
  // The last problem may keep so many choices per variable. More sweeps come first otherwise, in at
  // most so many rounds.
  double most_choices = 24;
  int most_rounds = 4;
};

struct SievedSolution {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by variable, of its choices; empty unless optimal or feasible
  double objective = 0;
  double lower_bound = 0;
  StopReason stopped_by = StopReason::kFinished;
  std::uint64_t kept = 0;  // choices of the last problem that was solved
};

// Bounds choices by messages, solves the problem of those near the bound, and proves that no other
// choice can be part of a better plan: its bound is above the cost that was found. Without a memory
// limit. Deterministic and budgeted as solve_problem().
Result<SievedSolution> sieved_search(const AtenModel& model, Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options,
                                     const SieveParameters& parameters = {});

}  // namespace shardwright::operators
