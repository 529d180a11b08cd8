// Finds choices of a model with a low peak of memory, and lower bounds of the peak.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/pruned_search.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of lightest_search(). Thread safety: a value.
struct LightestParameters {
  PruningParameters pruning;
  // The price of all bytes at the fullest time point, as a multiple of the cost of the cheapest
  // plan. The price is so high that costs only decide between choices of nearly equal memory.
  double worth = 1e4;
  // Hurried sweeps at these prices with repeated blocks merged, and choices kept per variable.
  int sweeps = 12;
  double choices = 4;
  // Limit of the turns. Each turn gives one more time point a price, which adds further choices.
  int most_turns = 4;
  // Steps of a bisection between the bound and the peak of the lightest choice, and the work of
  // each step in strategy evaluations.
  int halvings = 6;
  std::uint64_t work = 2'000'000;
};

struct LightestSolution {
  std::vector<std::uint32_t> choice;  // by variable; empty if none was found
  std::int64_t peak = 0;              // of the choice, in bytes
  std::vector<std::size_t> fullest;   // the time points with a price
};

// Searches the choice of the lowest peak. `cheapest`: a choice by variable, of cost `cost`.
// Determinism and budget are those of solve_problem(). Precondition: the model has usages.
Result<LightestSolution> lightest_search(const AtenModel& model,
                                         const std::vector<std::uint32_t>& cheapest, double cost,
                                         Executor& executor, Budget& budget,
                                         const ProblemSolveOptions& options,
                                         const LightestParameters& parameters = {});

// Returns a lower bound of the peak of all choices, in bytes: the maximum of least_peak() and, for
// each time point in `times`, a message-passing bound of the bytes held then.
std::int64_t least_bytes(const AtenModel& model, const std::vector<std::size_t>& times,
                         const Budget& budget, const PruningParameters& parameters = {});

// How much work to spend on a search for any choice within a limit. Thread safety: a value.
struct Effort {
  std::uint64_t work = 40'000'000;  // limit per problem, in strategy evaluations; a second
  // Limit of the choices per variable. Applies only if the matrices of all choices would have more
  // than `most_entries` entries (two gigabytes).
  double choices = 24;
  double most_entries = 3e8;

  // Returns the effort for the next search after a search without an answer.
  Effort more() const { return {work * 4, choices * 2, most_entries}; }
};

struct WithinSolution {
  std::vector<std::uint32_t> choice;  // by variable; empty if none was found
  bool is_impossible = false;         // proved: no choice is within the limit
  std::int64_t least_bytes = 0;       // proved: no choice has a lower peak
};

// Finds a choice that holds no more than `limit` bytes at any time, whatever it costs. Determinism
// and budget are those of solve_problem(). Precondition: the model has usages.
Result<WithinSolution> choice_within(const AtenModel& model, std::int64_t limit,
                                     const Effort& effort, Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options);

}  // namespace shardwright::operators
