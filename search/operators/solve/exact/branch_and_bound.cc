#include "search/operators/solve/exact/branch_and_bound.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/exact/dual_ascent.h"
#include "search/operators/solve/reduce/reduce.h"

namespace shardwright::operators {
namespace {

using Choice = std::vector<std::uint32_t>;

// A price that is not zero.
struct PricedTime {
  std::uint32_t time = 0;
  double price = 0;
};

// The choices that take, at every node, one of the strategies kept.
struct Subproblem {
  std::vector<char> kept;  // flat by node and strategy
  std::vector<PricedTime> prices;
  double bound = 0;
  std::uint64_t order = 0;  // ties are broken by age
};

// What became of one.
struct Processed {
  double bound = kForbidden;  // forbidden = closed
  std::optional<Choice> choice;
  double cost = kForbidden;
  std::vector<Subproblem> children;
  std::uint64_t work = 0;
};

// Whether all sums of costs are whole numbers, so that the next better cost is one less.
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

// Works on one subproblem. Thread safety: const.
class Processor {
 public:
  Processor(const CostInstance& instance, const Budget& budget)
      : instance_(&instance), budget_(&budget), whole_(has_whole_costs(instance)) {
    std::size_t first = 0;
    for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
      first_.push_back(first);
      first += instance.num_strategies(node);
    }
  }

  // What costs at least this is not worth finding.
  double worthless(double best) const {
    return whole_ && best < kForbidden ? best - 0.5 : best * (1 - 1e-11);
  }

  Processed run(Subproblem problem, double best) const {
    Processed result;
    result.cost = best;
    for (bool shrunk = true; shrunk && !budget_->interrupted();) {
      const Reduction reduction = reduce(*instance_, *budget_, problem.kept);
      result.work += problem.kept.size();
      if (reduction.infeasible) return closed(std::move(result));
      if (close_by_tables(reduction, result)) return closed(std::move(result));
      DualAscent dual(*reduction.core, prices_for(reduction, problem.prices));
      ascend(dual, reduction, result);
      const double cutoff = worthless(result.cost);
      if (dual.bound() + reduction.constant >= cutoff) return closed(std::move(result));
      problem.bound = std::max(problem.bound, dual.bound() + reduction.constant);
      result.bound = problem.bound;
      problem.prices = sparse_prices(reduction, dual.prices());
      const std::size_t excluded = exclude(reduction, dual, cutoff, problem);
      if (excluded == kEverything) return closed(std::move(result));
      shrunk = excluded * 20 > reduction.core->num_strategies();
      if (!shrunk) divide(reduction, dual, problem, result);
    }
    return result;
  }

 private:
  static constexpr std::size_t kEverything = ~std::size_t{0};

  static Processed closed(Processed result) {
    result.bound = kForbidden;
    return result;
  }

  void offer(const Reduction& reduction, const Choice& core_choice, Processed& result) const {
    if (!evaluate(*reduction.core, core_choice).feasible()) return;
    Choice choice = reduction.expand(core_choice);
    const double cost = evaluate(*instance_, choice).total();
    if (cost >= result.cost) return;
    result.cost = cost;
    result.choice = std::move(choice);
  }

  // True where the subproblem was solved.
  bool close_by_tables(const Reduction& reduction, Processed& result) const {
    constexpr double kMaxEntries = 1e6;
    constexpr std::size_t kMaxLabels = 200'000;
    const auto tree = BucketTree::make(*reduction.core, kMaxEntries);
    if (!tree) return false;
    Budget budget = *budget_;
    const std::uint64_t before = budget.work_done();
    const ExactResult exact = search_exactly(*tree, std::nullopt, kMaxLabels, budget);
    result.work += budget.work_done() - before;
    if (exact.choice) offer(reduction, *exact.choice, result);
    return exact.finished;
  }

  void ascend(DualAscent& dual, const Reduction& reduction, Processed& result) const {
    constexpr int kMaxRounds = 150;
    constexpr int kSweeps = 4;
    Budget budget = *budget_;
    const std::uint64_t before = budget.work_done();
    for (int round = 0; round < kMaxRounds && !dual.stalled() && !budget.interrupted(); ++round) {
      const double target = result.cost < kForbidden
                                ? result.cost - reduction.constant
                                : dual.bound() + std::max(1.0, std::abs(dual.bound()) * 0.02);
      dual.round(kSweeps, target, budget);
      offer(reduction, dual.choice(), result);
      if (dual.bound() + reduction.constant >= worthless(result.cost)) break;
    }
    result.work += budget.work_done() - before;
  }

  std::vector<double> prices_for(const Reduction& reduction,
                                 const std::vector<PricedTime>& sparse) const {
    std::vector<double> prices(reduction.times.size(), 0);
    for (const PricedTime& priced : sparse) {
      // A time point that went was implied by a neighbour.
      const auto at = std::lower_bound(reduction.times.begin(), reduction.times.end(), priced.time);
      if (at != reduction.times.end()) {
        prices[static_cast<std::size_t>(at - reduction.times.begin())] += priced.price;
      }
    }
    return prices;
  }

  static std::vector<PricedTime> sparse_prices(const Reduction& reduction,
                                               const std::vector<double>& prices) {
    std::vector<PricedTime> sparse;
    for (std::size_t t = 0; t < prices.size(); ++t) {
      if (prices[t] > 0) sparse.push_back({reduction.times[t], prices[t]});
    }
    return sparse;
  }

  // Strategies of the core that cannot be part of anything worth finding; how many.
  std::size_t exclude(const Reduction& reduction, const DualAscent& dual, double cutoff,
                      Subproblem& problem) const {
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

  void drop(std::vector<char>& kept, const Reduction& reduction, std::uint32_t node,
            std::uint32_t strategy) const {
    kept[first_[reduction.core_nodes[node]] + reduction.origins[node][strategy]] = 0;
  }

  // Two children: the light and the heavy strategies of one node.
  void divide(const Reduction& reduction, const DualAscent& dual, const Subproblem& problem,
              Processed& result) const {
    const CostInstance& core = *reduction.core;
    const double gap =
        std::max(worthless(result.cost) - result.bound, std::abs(result.bound) * 1e-9);
    std::uint32_t chosen = 0;
    double best_score = -1;
    std::vector<double> best_weights;
    for (std::uint32_t node = 0; node < core.num_nodes(); ++node) {
      if (core.num_strategies(node) < 2) continue;
      const std::vector<double> weights = priced_bytes(core, dual, node);
      double low = kForbidden;
      double high = -kForbidden;
      for (std::uint32_t s = 0; s < weights.size(); ++s) {
        const double slack = dual.bound_with(node, s) + reduction.constant - result.bound;
        if (slack > 0.25 * gap) continue;
        low = std::min(low, weights[s]);
        high = std::max(high, weights[s]);
      }
      const double score = high > low ? high - low : 0;
      if (score > best_score) {
        best_score = score;
        chosen = node;
        best_weights = weights;
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

  static std::vector<double> priced_bytes(const CostInstance& core, const DualAscent& dual,
                                          std::uint32_t node) {
    std::vector<double> weights(core.num_strategies(node), 0);
    for (const CostInstance::Usage& usage : core.usages(node)) {
      double price = 0;
      for (std::uint32_t t = usage.live.begin; t < usage.live.end; ++t)
        price += dual.prices()[t];
      if (price == 0) continue;
      for (std::uint32_t s = 0; s < weights.size(); ++s) {
        weights[s] += price * static_cast<double>(core.bytes(usage, s));
      }
    }
    return weights;
  }

  const CostInstance* instance_;
  const Budget* budget_;
  bool whole_;
  std::vector<std::size_t> first_;
};

// The subproblems still to process, the lowest bound first; ties go to the one made first.
// Thread safety: one thread at a time.
class OpenList {
 public:
  explicit OpenList(Subproblem root) { add(std::move(root)); }

  bool empty() const { return problems_.empty(); }
  void add(Subproblem problem) {
    problem.order = made_++;
    put_back(std::move(problem));
  }
  // Keeps the order that the subproblem has.
  void put_back(Subproblem problem) {
    problems_.push_back(std::move(problem));
    std::push_heap(problems_.begin(), problems_.end(), later);
  }
  // At most `size` subproblems. Drops those whose bound is not below the cutoff.
  std::vector<Subproblem> take(std::size_t size, double cutoff) {
    std::vector<Subproblem> batch;
    while (!problems_.empty() && batch.size() < size) {
      std::pop_heap(problems_.begin(), problems_.end(), later);
      if (problems_.back().bound < cutoff) batch.push_back(std::move(problems_.back()));
      problems_.pop_back();
    }
    return batch;
  }
  // The least bound, or `cost` if that is less.
  double bound(double cost) const {
    for (const Subproblem& problem : problems_)
      cost = std::min(cost, problem.bound);
    return cost;
  }

 private:
  static bool later(const Subproblem& a, const Subproblem& b) {
    return std::pair(a.bound, a.order) > std::pair(b.bound, b.order);
  }

  std::vector<Subproblem> problems_;  // a heap
  std::uint64_t made_ = 0;
};

}  // namespace

ExactResult branch_and_bound(const CostInstance& instance,
                             const std::optional<std::vector<std::uint32_t>>& start,
                             std::size_t max_nodes, Executor& executor, Budget& budget,
                             const std::function<void(const ExactResult&)>& on_better) {
  // Enough for the workers of a machine, and few enough to use what the batch before has found.
  constexpr std::size_t kBatch = 8;
  ExactResult result;
  if (start) {
    result.choice = start;
    result.cost = evaluate(instance, *start).total();
  }
  const Processor processor(instance, budget);
  Subproblem root;
  root.kept.assign(instance.num_strategies(), 1);
  OpenList open(std::move(root));
  std::size_t processed = 0;
  while (!open.empty() && processed < max_nodes && budget.work_left() && !budget.interrupted()) {
    const double before = result.cost;
    std::vector<Subproblem> batch = open.take(kBatch, processor.worthless(before));
    std::vector<Processed> done(batch.size());
    executor.parallel_for(batch.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        done[i] = processor.run(batch[i], before);
    });
    processed += batch.size();
    const bool interrupted = budget.interrupted().has_value();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      budget.spend(done[i].work);
      if (interrupted) open.put_back(std::move(batch[i]));
      for (Subproblem& child : done[i].children) {
        if (!interrupted) open.add(std::move(child));
      }
      if (!done[i].choice || done[i].cost >= result.cost) continue;
      result.cost = done[i].cost;
      result.choice = std::move(done[i].choice);
    }
    const double bound = open.bound(result.cost);
    const bool raised = bound > result.lower_bound;
    result.lower_bound = std::max(result.lower_bound, bound);
    if (result.cost < before || raised) on_better(result);
  }
  result.finished = open.empty() && !budget.interrupted();
  if (result.finished) result.lower_bound = result.cost;
  return result;
}

}  // namespace shardwright::operators
