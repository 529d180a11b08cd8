#include "search/operators/solve/exact/exact_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/solve/exact/count_search.h"
#include "search/operators/solve/exact/label_steps.h"
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

}  // namespace

ExactResult search_exactly(const BucketTree& tree, const KnownSolution& known,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters) {
  const CostInstance& instance = tree.instance();
  ExactResult result;
  result.choice = known.choice;
  result.cost = std::min(known.cost, dearest(instance) * (1 + kCostRounding) + 1);
  MemoryPrices prices(tree, result, known.prices, parameters.memory_prices);
  while (!budget.interrupted()) {
    prices.raise(budget);
    result.lower_bound = std::max(result.lower_bound, std::min(prices.bound(), result.cost));
    const double cutoff = result.cost * (1 - kCostRounding);
    result.finished = prices.bound() >= cutoff;
    if (result.finished || budget.interrupted()) break;
    if (parameters.counts.most_parts > 0 && prices.num_rows() > 0) {
      CountSearch(tree, prices, result, max_labels, parameters).run(budget);
      break;
    }
    LabelSearch labels(tree, prices, max_labels, parameters.labels);
    std::vector<std::uint32_t> choice;
    const double step = (cutoff - prices.bound()) / parameters.labels.first_step_parts;
    const bool complete = search_in_steps(instance, labels, parameters.labels, prices.bound(), step,
                                          cutoff, budget, result, choice);
    if (!complete) break;
    if (choice.empty()) {
      result.finished = true;
      result.lower_bound = result.cost;
      break;
    }
    const CostEvaluation evaluation = evaluate(instance, choice);
    // The cheapest under some of the limits, so a bound; optimal if within all of them.
    result.lower_bound = std::max(result.lower_bound, evaluation.total() * (1 - kCostRounding));
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
