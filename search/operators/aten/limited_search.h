// Finds the cheapest choice of a model that holds no more than a limit of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "search/operators/aten/pruned_search.h"

namespace shardwright::operators {

// Tuning numbers of limited_search(). Thread safety: a value.
struct LimitedParameters {
  // The first prices of a byte, as multiples of (cost of the cheapest plan) / (sum of its bytes
  // over all time points). Higher prices bring choices of less memory into the first problem.
  std::array<double, 4> first_prices{0.03, 0.3, 3, 30};
  // Hurried sweeps at these prices, with repeated blocks merged: bounds need not be exact.
  int first_sweeps = 6;
  // Choices per variable that each set of prices adds. The number is doubled, up to `most_choices`,
  // while the problem grows by less than the factor `least_growth`.
  double choices_per_prices = 3;
  double least_growth = 1.05;
  double most_choices = 24;
  // Limit of the rounds: solve a problem, find prices, add choices that are good at them.
  int most_rounds = 6;
  // Messages at the prices of a round: first with repeated blocks merged to one, then `sweeps`
  // sweeps for all blocks. At most `most_sharpenings` further sets of sweeps follow, while each
  // closes at least the fraction `least_gain` of the gap.
  PruningParameters pruning;
  int sweeps = 3;
  int most_sharpenings = 20;
  double least_gain = 0.2;
  // Limit of the work of a round's problem, in strategy evaluations, about a second: enough for a
  // good plan, not for a proof. Until the binding time points are known, each attempt has the limit
  // `work_of_limits` instead.
  std::uint64_t work_of_round = 60'000'000;
  std::uint64_t work_of_limits = 4'000'000;
  // Limit of the labels of an exact search, and CountParameters::most_parts.
  std::size_t most_labels = 300'000;
  std::size_t most_parts = 200;
  // The last problem proves the optimum or raises the bound. It is solved as soon as its matrices
  // have at most `most_entries` entries, or after the last round at most `most_last_entries`. Its
  // work is limited to `work_of_proof`, or to `work_if_close` if the plan is within the fraction
  // `close` of the bound.
  double most_entries = 1e6;
  double most_last_entries = 3e7;
  std::uint64_t work_of_proof = 4'000'000'000;
  double close = 1e-3;
  std::uint64_t work_if_close = 400'000'000;
};

// What limited_search() shares with the searches before and after it. Thread safety: as `accepts`.
struct LimitedContext {
  // In: the choices that an earlier search kept, by variable but without movers; empty if there was
  // no earlier search. Out: the choices that this search kept.
  KeptChoices* kept = nullptr;
  // Returns false if a plan exceeds the limit because of tensors in motion without movers. The
  // search then ends with this plan, and the caller has to add movers for these tensors.
  std::function<bool(const SievedSolution&)> accepts;
  // A choice within the limit to start from, including the model's movers; null if none is known.
  const SievedSolution* known = nullptr;
};

// `cheapest`: the cheapest plan without a limit; its lower bound holds for all plans. The result is
// proved optimal if the bounds leave few enough choices; otherwise it has a lower bound. Returns
// nullopt if no plan was found, which does not prove that there is none. Determinism and budget are
// those of solve_problem(). Precondition: the model has usages.
Result<std::optional<SievedSolution>> limited_search(
    const AtenModel& model, const SievedSolution& cheapest, std::int64_t limit,
    const LimitedContext& context, Executor& executor, Budget& budget,
    const ProblemSolveOptions& options, const LimitedParameters& parameters = {});

}  // namespace shardwright::operators
