// Finds the cheapest choice of a model that holds no more than a limit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "search/operators/aten/sieved_search.h"

namespace shardwright::operators {

// Tuning numbers of limited_search().
// Thread safety: a value.
struct LimitedParameters {
  // Prices of bytes before any are known, as parts of what a step costs per byte and time point
  // that the cheapest plan holds. They bring choices of less memory into the first problem.
  std::array<double, 4> first_prices{0.03, 0.3, 3, 30};
  // Hurried sweeps at each of them, for repeated blocks as one. Choices need no exact bounds.
  int first_sweeps = 6;
  // Choices per variable that a set of prices adds. If these make the problem of a round less than
  // `least_growth` times as large, twice as many are added, up to `most_choices`.
  double choices_per_prices = 3;
  double least_growth = 1.05;
  double most_choices = 24;
  // Rounds: solve, find prices, add choices that are good at these prices.
  int most_rounds = 6;
  // Messages at the prices of a round: for repeated blocks as one, then sweeps for all blocks. More
  // sweeps follow, in at most so many turns, as long as one closes this part of the gap.
  SieveParameters sieve;
  int sweeps = 3;
  int most_sharpenings = 20;
  double least_gain = 0.2;
  // Work of the problem of a round, in strategy evaluations: a good plan, not a proof. About a
  // second. Until its plan exceeds the limit at no further time point, it gets `work_of_limits`.
  std::uint64_t work_of_round = 60'000'000;
  std::uint64_t work_of_limits = 4'000'000;
  // Labels of an exact search, and parts by counts of equal nodes.
  std::size_t most_labels = 300'000;
  std::size_t most_parts = 200;
  // The last problem proves the optimum or raises the bound. It follows as soon as its matrices
  // have at most so many entries together; after the last round it may have `most_last_entries`.
  // Its work, and that if the plan is within the part `close` of the bound.
  double most_entries = 1e6;
  double most_last_entries = 3e7;
  std::uint64_t work_of_proof = 4'000'000'000;
  double close = 1e-3;
  std::uint64_t work_if_close = 400'000'000;
};

// What surrounds a search within a limit.
// Thread safety: as `accepts`.
struct LimitedContext {
  // The choices that an earlier search looked at, by variable but without movers; what is missing
  // is sought. The search leaves its own here.
  KeptChoices* kept = nullptr;
  // Returns false if a plan holds more than it may because of tensors that have no movers. The
  // search then ends, with this plan: its movers must be added.
  std::function<bool(const SievedSolution&)> accepts;
  // A choice within the limit from which the search begins; null if none is known. Its movers are
  // those of the model.
  const SievedSolution* known = nullptr;
};

// `cheapest` is a plan without a limit; its bound holds for all others.
// The result is proved if the bounds leave few enough choices, otherwise it has a bound. Returns
// nullopt if no plan was found: there may be none unless one is known. Deterministic and budgeted
// as solve_problem(). Precondition: the model has usages.
Result<std::optional<SievedSolution>> limited_search(
    const AtenModel& model, const SievedSolution& cheapest, std::int64_t limit,
    const LimitedContext& context, Executor& executor, Budget& budget,
    const ProblemSolveOptions& options, const LimitedParameters& parameters = {});

}  // namespace shardwright::operators
