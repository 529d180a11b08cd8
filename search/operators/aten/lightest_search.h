// Finds choices of a model of low peak memory, and lower bounds of the peak.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/pruned_search.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of lightest_search().
// Thread safety: a value.
struct LightestParameters {
  PruningParameters pruning;
  // The price of all bytes at the fullest time point, as a multiple of the cost of the cheapest
  // plan. It is so high that costs only decide between choices of nearly equal memory.
  double worth = 1e4;
  // Hurried sweeps at these prices, with repeated blocks merged, and choices kept per variable.
  int sweeps = 12;
  double choices = 4;
  // Limit of the turns. In each turn another time point gets a price, which adds further choices.
  int most_turns = 4;
  // Bisection steps between the bound and the peak of the lightest choice, and the work of each, in
  // strategy evaluations.
  int halvings = 6;
  std::uint64_t work = 2'000'000;
};

struct LightestSolution {
  std::vector<std::uint32_t> choice;  // by variable; empty if none was found
  std::int64_t peak = 0;              // of the choice, in bytes
  std::vector<std::size_t> fullest;   // the time points with a price
};

// Looks for the choice of the lowest peak. `cheapest` is a choice by variable, of cost `cost`.
// Deterministic and budgeted as solve_problem(). Precondition: the model has usages.
Result<LightestSolution> lightest_search(const AtenModel& model,
                                         const std::vector<std::uint32_t>& cheapest, double cost,
                                         Executor& executor, Budget& budget,
                                         const ProblemSolveOptions& options,
                                         const LightestParameters& parameters = {});

// A lower bound of the peak of all choices: the maximum of least_peak() and, for each of `times`,
// the message-passing bound of the bytes held there.
std::int64_t least_bytes(const AtenModel& model, const std::vector<std::size_t>& times,
                         const Budget& budget, const PruningParameters& parameters = {});

// The effort of a search for any choice within a limit.
// Thread safety: a value.
struct Effort {
  std::uint64_t work = 40'000'000;  // limit per problem, in strategy evaluations; a second
  // Limit of the choices per variable. It applies only if the matrices of all choices would have
  // more than `most_entries` entries (two gigabytes).
  double choices = 24;
  double most_entries = 3e8;

  // The next effort after a search without an answer.
  Effort more() const { return {work * 4, choices * 2, most_entries}; }
};

struct WithinSolution {
  std::vector<std::uint32_t> choice;  // by variable; empty if none was found
  bool is_impossible = false;         // proved: no choice is within the limit
  std::int64_t least_bytes = 0;       // proved: no choice holds less
};

// Finds a choice that holds no more than the limit, whatever it costs. Deterministic and budgeted
// as solve_problem(). Precondition: the model has usages.
Result<WithinSolution> choice_within(const AtenModel& model, std::int64_t limit,
                                     const Effort& effort, Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options);

}  // namespace shardwright::operators
