#include "search/operators/solve/exact/branch_and_bound.h"

#include <algorithm>
#include <utility>

#include "search/operators/solve/exact/subproblem.h"

namespace shardwright::operators {
namespace {

// The open subproblems, the lowest bound first. Of equal bounds, the older one is first.
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
