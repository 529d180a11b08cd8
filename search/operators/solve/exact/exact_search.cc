#include "search/operators/solve/exact/exact_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/solve/exact/label_search.h"
#include "search/operators/solve/exact/memory_prices.h"

namespace shardwright::operators {
namespace {

// No feasible choice costs more.
double dearest(const CostInstance& instance) {
  const auto largest = [](std::span<const double> costs) {
    double most = 0;
    for (const double cost : costs) {
      if (cost < kForbidden) most = std::max(most, cost);
    }
    return most;
  };
  double sum = 0;
  for (std::size_t node = 0; node < instance.num_nodes(); ++node)
    sum += largest(instance.costs(node));
  for (const CostInstance::Edge& edge : instance.edges())
    sum += largest(instance.matrix(edge));
  return sum;
}

// The sum of the same costs in another order differs by less than this part.
constexpr double kRounding = 1e-11;

void keep_if_better(const CostInstance& instance, std::vector<std::uint32_t> choice,
                    ExactResult& result) {
  const CostEvaluation evaluation = evaluate(instance, choice);
  if (!evaluation.feasible() || evaluation.total() >= result.cost) return;
  result.choice = std::move(choice);
  result.cost = evaluation.total();
}

// Finds the cheapest choice below the cutoff that is within the limits of the time points with
// prices; `choice` stays empty if there is none. Searches below limits that rise in steps from the
// bound to the cutoff, and raises the bound of the result with them. If the lists become too long,
// a beam goes on in search of any choice, and this returns false.
bool search_in_steps(const CostInstance& instance, LabelSearch& labels,
                     const LabelParameters& parameters, double bound, double cutoff, Budget& budget,
                     ExactResult& result, std::vector<std::uint32_t>& choice) {
  double step = (cutoff - bound) / parameters.first_step_parts;
  bool complete = true;
  for (;;) {
    choice.clear();
    const double limit = std::min(bound + step, cutoff);
    const bool last = limit == cutoff;
    const LabelSearch::End end = complete ? labels.run(limit, budget)
                                          : labels.run_beam(limit, parameters.beam_width, budget);
    if (end == LabelSearch::End::kGivenUp) {
      if (!complete || budget.interrupted() || !budget.work_left()) return false;
      complete = false;
      continue;
    }
    if (end == LabelSearch::End::kFound) {
      keep_if_better(instance, labels.choice(), result);
      if (!complete || labels.cost() < limit) {
        choice = labels.choice();
        return complete;
      }
      cutoff = std::min(cutoff, labels.cost() * (1 + 2 * kRounding));
    }
    if (complete) result.lower_bound = std::max(result.lower_bound, limit);
    if (last) return complete;
    step *= parameters.step_growth;
  }
}

}  // namespace

ExactResult search_exactly(const BucketTree& tree, const KnownSolution& known,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters) {
  const CostInstance& instance = tree.instance();
  ExactResult result;
  result.choice = known.choice;
  result.cost = std::min(known.cost, dearest(instance) * (1 + kRounding) + 1);
  MemoryPrices prices(tree, result, known.prices, parameters.memory_prices);
  while (!budget.interrupted()) {
    prices.raise(budget);
    result.lower_bound = std::max(result.lower_bound, std::min(prices.bound(), result.cost));
    const double cutoff = result.cost * (1 - kRounding);
    result.finished = prices.bound() >= cutoff;
    if (result.finished || budget.interrupted()) break;
    LabelSearch labels(tree, prices, max_labels, parameters.labels);
    std::vector<std::uint32_t> choice;
    const bool complete = search_in_steps(instance, labels, parameters.labels, prices.bound(),
                                          cutoff, budget, result, choice);
    if (!complete) break;
    if (choice.empty()) {
      result.finished = true;
      result.lower_bound = result.cost;
      break;
    }
    const CostEvaluation evaluation = evaluate(instance, choice);
    // The cheapest under some of the limits, so a bound; optimal if within all of them.
    result.lower_bound = std::max(result.lower_bound, evaluation.total() * (1 - kRounding));
    if (evaluation.feasible()) {
      result.choice = choice;
      result.cost = evaluation.total();
      result.lower_bound = result.cost;
      result.finished = true;
      break;
    }
    if (!prices.take_in(choice)) break;
  }
  result.prices.assign(instance.limits().size(), 0);
  for (std::size_t i = 0; i < prices.times().size(); ++i)
    result.prices[prices.times()[i]] = prices.prices()[i];
  if (!result.choice) result.cost = kForbidden;
  if (result.finished && !result.choice) result.lower_bound = known.cost;
  return result;
}

}  // namespace shardwright::operators
