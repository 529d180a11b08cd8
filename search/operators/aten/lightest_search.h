// Finds a choice of a model that holds as little as possible, or no more than a limit, and how
// little all must hold.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/sieved_search.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of lightest_search().
// Thread safety: a value.
struct LightestParameters {
  SieveParameters sieve;
  // What all bytes of the fullest time point are worth, as a multiple of what the cheapest plan
  // costs: so much that costs only decide among choices that are nearly as light.
  double worth = 1e4;
  // Hurried sweeps at these prices, for repeated blocks as one, and choices per variable.
  int sweeps = 12;
  double choices = 4;
  // Times that a fuller time point gets a price, which brings in further choices.
  int most_turns = 4;
  // Halvings of the way from the bound to the lightest choice, each a problem of so much work, in
  // strategy evaluations.
  int halvings = 6;
  std::uint64_t work = 2'000'000;
};

struct LightestSolution {
  std::vector<std::uint32_t> choice;  // by variable; empty if none was found
  std::int64_t peak = 0;              // that the choice holds at most
  std::vector<std::size_t> fullest;   // time points at which choices are full
};

// `cheapest` is a choice by variable, of this cost. Deterministic and budgeted as solve_problem().
// Precondition: the model has usages.
Result<LightestSolution> lightest_search(const AtenModel& model,
                                         const std::vector<std::uint32_t>& cheapest, double cost,
                                         Executor& executor, Budget& budget,
                                         const ProblemSolveOptions& options,
                                         const LightestParameters& parameters = {});

// No choice holds less than this at all of these time points. At least least_peak(); the messages
// between all variables may show more.
std::int64_t least_bytes(const AtenModel& model, const std::vector<std::size_t>& times,
                         const Budget& budget, const SieveParameters& parameters = {});

// How long a search among all choices looks.
// Thread safety: a value.
struct Effort {
  std::uint64_t work = 40'000'000;  // of each problem, in strategy evaluations; about a second
  // Choices per variable where the matrices of all choices have more entries than `most_entries`,
  // two gigabytes if none are shared.
  double choices = 24;
  double most_entries = 3e8;

  // Ever more effort ends with an answer.
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
