// Finds the cheapest choice of a model that holds no more than a limit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "search/operators/aten/sieve/sieved_search.h"

namespace shardwright::operators {

// Tuning numbers of limited_search().
// Thread safety: a value.
struct LimitedParameters {
  // Prices of bytes before any are known, as parts of what a step costs per byte and time point that
  // the cheapest plan holds. They bring choices of less memory into the first problem.
  std::array<double, 4> first_prices{0.03, 0.3, 3, 30};
  // Choices per variable that a set of prices adds.
  double choices_per_prices = 3;
  // Rounds: solve, find prices, add choices that are good at these prices. Sweeps at new prices.
  int most_rounds = 6;
  int sweeps = 6;
  // Rounds of dual ascent on the kept choices for prices, and passes in each.
  int price_rounds = 120;
  int price_sweeps = 2;
  // Work of the problem of a round, in strategy evaluations: a good plan, not a proof.
  std::uint64_t work_of_round = 400'000'000;
  // Labels of an exact search; each has the bytes of many time points.
  std::size_t most_labels = 100'000;
  // The last problem, which proves the optimum or raises the bound, may have matrices of so many
  // entries together, and so much work.
  double most_entries = 3e6;
  std::uint64_t work_of_proof = 4'000'000'000;
};

// `cheapest` is the plan without a limit, which the sieve has just found; its cost bounds all others.
// The result is proved if the bounds leave few enough choices, otherwise it has a bound. Returns
// nullopt if no plan was found: there may be none. Deterministic and budgeted as solve_problem().
// Preconditions: the model has usages; `sieve` is of the model.
Result<std::optional<SievedSolution>> limited_search(const AtenModel& model, ChoiceSieve& sieve,
                                                     const SievedSolution& cheapest,
                                                     std::int64_t limit, Executor& executor,
                                                     Budget& budget,
                                                     const ProblemSolveOptions& options,
                                                     const LimitedParameters& parameters = {});

}  // namespace shardwright::operators
