// Finds a choice of a model that holds as little as possible, and how little all must hold.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/model/aten_model.h"
#include "search/operators/aten/sieve/choice_sieve.h"
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

}  // namespace shardwright::operators
