#include "search/operators/solve/exact/subproblem.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/exact/exact_search.h"

namespace shardwright::operators {
namespace {

constexpr std::size_t kEverything = ~std::size_t{0};

// Returns true if all sums of costs are whole numbers that a double holds exactly.
bool has_whole_costs(const CostInstance& instance) {
  constexpr double kExact = 4503599627370496.0;  // 2^52
  double sum = 0;
  const auto whole = [&](std::span<const double> costs) {
    double most = 0;
    for (const double cost : costs) {
      if (cost == kForbidden) continue;
      if (cost != std::floor(cost)) return false;
      most = std::max(most, cost);
    }
    sum += most;
    return true;
  };
  for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
    if (!whole(instance.costs(node))) return false;
  }
  for (const CostInstance::Edge& edge : instance.edges()) {
    if (!whole(instance.matrix(edge))) return false;
  }
  return sum < kExact;
}

ProcessedSubproblem closed(ProcessedSubproblem result) {
  result.bound = kForbidden;
  return result;
}

// The prices by time point of the core.
std::vector<double> core_prices(const Reduction& reduction, const std::vector<PricedTime>& sparse) {
  std::vector<double> prices(reduction.times.size(), 0);
  for (const PricedTime& priced : sparse) {
    // A time point that was dropped is implied by a neighbour, which gets its price.
    const auto at = std::lower_bound(reduction.times.begin(), reduction.times.end(), priced.time);
    if (at != reduction.times.end())
      prices[static_cast<std::size_t>(at - reduction.times.begin())] += priced.price;
  }
  return prices;
}

std::vector<PricedTime> sparse_prices(const Reduction& reduction,
                                      const std::vector<double>& prices) {
  std::vector<PricedTime> sparse;
  for (std::size_t t = 0; t < prices.size(); ++t) {
    if (prices[t] > 0) sparse.push_back({reduction.times[t], prices[t]});
  }
  return sparse;
}

// By strategy of the node, the price of what it holds.
std::vector<double> priced_bytes(const CostInstance& core, const std::vector<double>& prices,
                                 std::uint32_t node) {
  std::vector<double> weights(core.num_strategies(node), 0);
  for (const CostInstance::Usage& usage : core.usages(node)) {
    double price = 0;
    for (std::uint32_t t = usage.live.begin; t < usage.live.end; ++t)
      price += prices[t];
    if (price == 0) continue;
    for (std::uint32_t s = 0; s < weights.size(); ++s)
      weights[s] += price * static_cast<double>(core.bytes(usage, s));
  }
  return weights;
}

}  // namespace

SubproblemProcessor::SubproblemProcessor(const CostInstance& instance, const Budget& budget,
                                         const SolverParameters& parameters)
    : instance_(&instance),
      budget_(&budget),
      parameters_(&parameters),
      whole_costs_(has_whole_costs(instance)) {
  std::size_t first = 0;
  for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
    first_.push_back(first);
    first += instance.num_strategies(node);
  }
}

double SubproblemProcessor::cutoff(double best) const {
  constexpr double kTolerance = 1e-11;  // of sums of costs that are not whole numbers
  return whole_costs_ && best < kForbidden ? best - 0.5 : best * (1 - kTolerance);
}

ProcessedSubproblem SubproblemProcessor::run(Subproblem problem, double best) const {
  ProcessedSubproblem result;
  result.cost = best;
  for (bool shrunk = true; shrunk && !budget_->interrupted();) {
    const Reduction reduction = reduce(*instance_, *budget_, problem.kept, parameters_->reduce);
    result.work += problem.kept.size();
    if (reduction.infeasible) return closed(std::move(result));
    if (close_by_tables(reduction, result)) return closed(std::move(result));
    DualAscent dual(*reduction.core, core_prices(reduction, problem.prices), parameters_->dual);
    ascend(dual, reduction, result);
    const double limit = cutoff(result.cost);
    if (dual.bound() + reduction.constant >= limit) return closed(std::move(result));
    problem.bound = std::max(problem.bound, dual.bound() + reduction.constant);
    result.bound = problem.bound;
    problem.prices = sparse_prices(reduction, dual.prices());
    const std::size_t excluded = exclude(reduction, dual, limit, problem);
    if (excluded == kEverything) return closed(std::move(result));
    shrunk = excluded * parameters_->branch.reduce_again_one_in > reduction.core->num_strategies();
    if (!shrunk) divide(reduction, dual, problem, result);
  }
  return result;
}

void SubproblemProcessor::offer(const Reduction& reduction,
                                const std::vector<std::uint32_t>& core_choice,
                                ProcessedSubproblem& result) const {
  if (!evaluate(*reduction.core, core_choice).feasible()) return;
  std::vector<std::uint32_t> choice = reduction.expand(core_choice);
  const double cost = evaluate(*instance_, choice).total();
  if (cost >= result.cost) return;
  result.cost = cost;
  result.choice = std::move(choice);
}

// Returns true if the subproblem was solved.
bool SubproblemProcessor::close_by_tables(const Reduction& reduction,
                                          ProcessedSubproblem& result) const {
  const BranchParameters& branch = parameters_->branch;
  const auto tree =
      BucketTree::make(*reduction.core, branch.most_table_entries, parameters_->order, *budget_);
  if (!tree) return false;
  Budget budget = *budget_;
  const std::uint64_t before = budget.work_done();
  KnownSolution known;
  if (result.cost < kForbidden) known.cost = cutoff(result.cost) - reduction.constant;
  ExactParameters parameters = parameters_->exact;
  parameters.counts.most_parts = 0;  // it is one of many
  const ExactResult exact = search_exactly(*tree, known, branch.most_labels, budget, parameters);
  result.work += budget.work_done() - before;
  if (exact.choice) offer(reduction, *exact.choice, result);
  return exact.finished;
}

void SubproblemProcessor::ascend(DualAscent& dual, const Reduction& reduction,
                                 ProcessedSubproblem& result) const {
  const BranchParameters& branch = parameters_->branch;
  Budget budget = *budget_;
  const std::uint64_t before = budget.work_done();
  for (int round = 0; round < branch.most_rounds && !dual.stalled(branch.stretch, branch.progress);
       ++round) {
    if (budget.interrupted()) break;
    const double blind = std::max(1.0, std::abs(dual.bound()) * branch.blind_target);
    const double target =
        result.cost < kForbidden ? result.cost - reduction.constant : dual.bound() + blind;
    dual.round(branch.sweeps, target, budget);
    offer(reduction, dual.choice(), result);
    if (dual.bound() + reduction.constant >= cutoff(result.cost)) break;
  }
  result.work += budget.work_done() - before;
}

// Drops the strategies of the core whose bound reaches the cutoff. Returns how many these are, or
// kEverything if no choice is left.
std::size_t SubproblemProcessor::exclude(const Reduction& reduction, const DualAscent& dual,
                                         double cutoff, Subproblem& problem) const {
  std::size_t excluded = 0;
  const CostInstance& core = *reduction.core;
  for (std::uint32_t node = 0; node < core.num_nodes(); ++node) {
    std::size_t left = core.num_strategies(node);
    for (std::uint32_t s = 0; s < core.num_strategies(node); ++s) {
      if (dual.bound_with(node, s) + reduction.constant < cutoff) continue;
      drop(problem.kept, reduction, node, s);
      ++excluded;
      --left;
    }
    if (left == 0) return kEverything;
  }
  return excluded;
}

// `node` and `strategy` are those of the core.
void SubproblemProcessor::drop(std::vector<char>& kept, const Reduction& reduction,
                               std::uint32_t node, std::uint32_t strategy) const {
  kept[first_[reduction.core_nodes[node]] + reduction.origins[node][strategy]] = 0;
}

// Makes two children: the light and the heavy strategies of the node whose strategies near the
// bound differ most in priced bytes. There memory decides, which bounds cannot see.
void SubproblemProcessor::divide(const Reduction& reduction, const DualAscent& dual,
                                 const Subproblem& problem, ProcessedSubproblem& result) const {
  const CostInstance& core = *reduction.core;
  const double gap = std::max(cutoff(result.cost) - result.bound, std::abs(result.bound) * 1e-9);
  const double near = parameters_->branch.near_share * gap;
  std::uint32_t chosen = 0;
  double best_score = -1;
  std::vector<double> best_weights;
  for (std::uint32_t node = 0; node < core.num_nodes(); ++node) {
    if (core.num_strategies(node) < 2) continue;
    std::vector<double> weights = priced_bytes(core, dual.prices(), node);
    double low = kForbidden;
    double high = -kForbidden;
    for (std::uint32_t s = 0; s < weights.size(); ++s) {
      if (dual.bound_with(node, s) + reduction.constant - result.bound > near) continue;
      low = std::min(low, weights[s]);
      high = std::max(high, weights[s]);
    }
    const double score = high > low ? high - low : 0;
    if (score > best_score) {
      best_score = score;
      chosen = node;
      best_weights = std::move(weights);
    }
  }
  const double low = *std::min_element(best_weights.begin(), best_weights.end());
  const double high = *std::max_element(best_weights.begin(), best_weights.end());
  for (const bool heavy : {false, true}) {
    Subproblem child = problem;
    for (std::uint32_t s = 0; s < best_weights.size(); ++s) {
      const bool is_heavy = high > low ? best_weights[s] > (low + high) / 2 : s > 0;
      if (is_heavy != heavy) drop(child.kept, reduction, chosen, s);
    }
    result.children.push_back(std::move(child));
  }
}

}  // namespace shardwright::operators
