#include "search/operators/solve/branch_and_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/message_passing.h"
#include "search/operators/solve/reduce.h"

namespace shardwright::operators {
namespace {

// A price above 0.
struct PricedTime {
  std::uint32_t time = 0;  // index of the time point in the instance
  double price = 0;
};

// The choices that take a kept strategy at every node.
struct Subproblem {
  std::vector<char> kept;  // flat by node and strategy
  std::vector<PricedTime> prices;
  double bound = 0;
  std::uint64_t order = 0;  // number in order of creation; decides ties
};

// The result of processing a subproblem.
struct ProcessedSubproblem {
  double bound = kForbidden;  // kForbidden: no child remains open
  std::optional<std::vector<std::uint32_t>> choice;
  double cost = kForbidden;
  std::vector<Subproblem> children;
  std::uint64_t work = 0;
};

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

// Returns the prices by time point of the core.
std::vector<double> core_prices(const Reduction& reduction, const std::vector<PricedTime>& sparse) {
  std::vector<double> prices(reduction.times.size(), 0);
  for (const PricedTime& priced : sparse) {
    // A neighbour's limit implies that of a dropped time point. The neighbour gets the price.
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

// Returns, by strategy of the node, the price of the bytes that the node holds.
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

// Reduces a subproblem. Solves it by tables if its graph is narrow; otherwise bounds and divides
// it. Thread safety: const members may be called from any thread.
class SubproblemProcessor {
 public:
  // Borrows its arguments. Reads only deadline and stop of the budget; results report their work.
  SubproblemProcessor(const CostInstance& instance, const Budget& budget,
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

  // Returns the cost below which a choice improves on `best`, with an allowance for rounding. If
  // all costs are whole numbers, better choices cost at least 1 less.
  double cutoff(double best) const {
    constexpr double kTolerance = 1e-11;  // relative error of sums of costs
    return whole_costs_ && best < kForbidden ? best - 0.5 : best * (1 - kTolerance);
  }

  // `best`: the cost of the best known choice.
  ProcessedSubproblem run(Subproblem problem, double best) const {
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
      shrunk =
          excluded * parameters_->branch.reduce_again_one_in > reduction.core->num_strategies();
      if (!shrunk) divide(reduction, dual, problem, result);
    }
    return result;
  }

 private:
  void offer(const Reduction& reduction, const std::vector<std::uint32_t>& core_choice,
             ProcessedSubproblem& result) const {
    if (!evaluate(*reduction.core, core_choice).feasible()) return;
    std::vector<std::uint32_t> choice = reduction.expand(core_choice);
    const double cost = evaluate(*instance_, choice).total();
    if (cost >= result.cost) return;
    result.cost = cost;
    result.choice = std::move(choice);
  }

  // Returns true if the subproblem was solved.
  bool close_by_tables(const Reduction& reduction, ProcessedSubproblem& result) const {
    const BranchParameters& branch = parameters_->branch;
    const auto tree =
        BucketTree::make(*reduction.core, branch.most_table_entries, parameters_->order, *budget_);
    if (!tree) return false;
    Budget budget = *budget_;
    const std::uint64_t before = budget.work_done();
    KnownSolution known;
    if (result.cost < kForbidden) known.cost = cutoff(result.cost) - reduction.constant;
    ExactParameters parameters = parameters_->exact;
    parameters.counts.most_parts = 0;  // would be too much work per subproblem
    const ExactResult exact = search_exactly(*tree, known, branch.most_labels, budget, parameters);
    result.work += budget.work_done() - before;
    if (exact.choice) offer(reduction, *exact.choice, result);
    return exact.finished;
  }

  void ascend(DualAscent& dual, const Reduction& reduction, ProcessedSubproblem& result) const {
    const BranchParameters& branch = parameters_->branch;
    Budget budget = *budget_;
    const std::uint64_t before = budget.work_done();
    for (int round = 0;
         round < branch.most_rounds && !dual.stalled(branch.stretch, branch.progress); ++round) {
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

  // Drops the strategies of the core whose bounds reach the cutoff. Returns the number of
  // strategies dropped, or kEverything if a node has no strategy left.
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

  // `node` and `strategy` are numbers in the core.
  void drop(std::vector<char>& kept, const Reduction& reduction, std::uint32_t node,
            std::uint32_t strategy) const {
    kept[first_[reduction.core_nodes[node]] + reduction.origins[node][strategy]] = 0;
  }

  // Makes two children at one node: one keeps its light strategies, the other its heavy ones. The
  // node is the one whose strategies near the bound differ most in priced bytes. There the memory
  // limits decide, which the bound knows only as prices.
  void divide(const Reduction& reduction, const DualAscent& dual, const Subproblem& problem,
              ProcessedSubproblem& result) const {
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

  const CostInstance* instance_;
  const Budget* budget_;
  const SolverParameters* parameters_;
  bool whole_costs_;
  std::vector<std::size_t> first_;  // by node: index of its first strategy in Subproblem::kept
};

// The open subproblems, lowest bound first. Of equal bounds, the older one comes first.
// Thread safety: one thread at a time.
class OpenList {
 public:
  explicit OpenList(Subproblem root) { add(std::move(root)); }

  bool empty() const { return problems_.empty(); }
  void add(Subproblem problem) {
    problem.order = made_++;
    put_back(std::move(problem));
  }
  // As add(), but the subproblem keeps its age.
  void put_back(Subproblem problem) {
    problems_.push_back(std::move(problem));
    std::push_heap(problems_.begin(), problems_.end(), later);
  }
  // Takes out at most `size` subproblems. Drops those whose bound is not below the cutoff.
  std::vector<Subproblem> take(std::size_t size, double cutoff) {
    std::vector<Subproblem> batch;
    while (!problems_.empty() && batch.size() < size) {
      std::pop_heap(problems_.begin(), problems_.end(), later);
      if (problems_.back().bound < cutoff) batch.push_back(std::move(problems_.back()));
      problems_.pop_back();
    }
    return batch;
  }
  // Returns the least bound of all subproblems, or `cost` if that is less.
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

ExactResult branch_and_bound(const CostInstance& instance, const KnownSolution& known,
                             std::size_t max_nodes, Executor& executor, Budget& budget,
                             const std::function<void(const ExactResult&)>& on_better,
                             const SolverParameters& parameters) {
  ExactResult result;
  result.choice = known.choice;
  result.cost = known.cost;
  const SubproblemProcessor processor(instance, budget, parameters);
  Subproblem root;
  root.kept.assign(instance.num_strategies(), 1);
  for (std::uint32_t time = 0; time < known.prices.size(); ++time) {
    if (known.prices[time] > 0) root.prices.push_back({time, known.prices[time]});
  }
  OpenList open(std::move(root));
  std::size_t processed = 0;
  while (!open.empty() && processed < max_nodes && budget.work_left() && !budget.interrupted()) {
    const double before = result.cost;
    std::vector<Subproblem> batch = open.take(parameters.branch.batch, processor.cutoff(before));
    std::vector<ProcessedSubproblem> done(batch.size());
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
