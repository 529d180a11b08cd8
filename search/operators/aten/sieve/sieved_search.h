// Finds the optimal choice of a model with many strategies by looking at few of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/model/aten_model.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of sieved_search().
// Thread safety: a value.
struct SieveParameters {
  // Sweeps of messages before the first look, and before each further one. The bound is mostly tight
  // after a dozen; each costs a look at all tables.
  int first_sweeps = 14;
  int more_sweeps = 3;
  // Where blocks repeat: sweeps for one block, again while the bound rises by this part of it, in at
  // most so many rounds. Then sweeps for all blocks.
  int block_sweeps = 8;
  double least_block_gain = 1e-4;
  int most_block_rounds = 4;
  int sweeps_from_blocks = 3;
  // A look takes the choices whose bound is within a part of the bound of all. The part is halved
  // while it keeps more than `first_choices` per variable: such problems must be quick. The next look
  // begins with a part that is larger by `part_growth`.
  double first_part = 0.01;
  double first_choices = 8;
  double part_growth = 4;
  // Sweeps that close less than this part of the gap are followed by another look.
  double least_gain = 0.1;
  int most_looks = 4;
  // The last problem, which proves the optimum, may keep so many choices per variable. More sweeps
  // come first otherwise, in at most so many rounds.
  double most_choices = 24;
  int most_rounds = 16;
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
