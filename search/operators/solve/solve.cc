#include "search/operators/solve/solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/explore.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/bounded_search.h"
#include "search/operators/solve/branch_and_bound.h"
#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/exact_search.h"
#include "search/operators/solve/local_search.h"
#include "search/operators/solve/message_passing.h"
#include "search/operators/solve/reduce.h"

namespace shardwright::operators {
namespace {

// The bytes that a node holds at a time point, by strategy.
std::vector<std::int64_t> held_by(const CostInstance& instance, std::size_t node,
                                  std::size_t time) {
  std::vector<std::int64_t> held(instance.num_strategies(node), 0);
  for (const CostInstance::Usage& usage : instance.usages(node)) {
    if (time < usage.live.begin || time >= usage.live.end) continue;
    for (std::uint32_t s = 0; s < held.size(); ++s)
      held[s] += instance.bytes(usage, s);
  }
  return held;
}

std::int64_t least_allowed(std::span<const double> costs, std::span<const std::int64_t> bytes) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    if (costs[s] < kForbidden) least = std::min(least, bytes[s]);
  }
  return least == std::numeric_limits<std::int64_t>::max() ? 0 : least;
}

// By time point: the sum over nodes of the least bytes that a strategy of the node holds.
std::vector<std::int64_t> least_sums(const CostInstance& instance, std::size_t num_time_points) {
  std::vector<std::int64_t> sums(num_time_points, 0);
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    std::size_t begin = num_time_points;
    std::size_t end = 0;
    for (const CostInstance::Usage& usage : instance.usages(n)) {
      begin = std::min<std::size_t>(begin, usage.live.begin);
      end = std::max<std::size_t>(end, usage.live.end);
    }
    for (std::size_t t = begin; t < std::min(end, num_time_points); ++t)
      sums[t] += least_allowed(instance.costs(n), held_by(instance, n, t));
  }
  return sums;
}

// Returns an instance whose costs are the bytes held at one time point. Forbidden strategies and
// pairs stay forbidden.
Result<CostInstance> bytes_as_costs(const CostInstance& instance, std::size_t time) {
  CostInstanceSpec spec;
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    const std::span<const double> costs = instance.costs(n);
    const std::vector<std::int64_t> held = held_by(instance, n, time);
    CostInstanceSpec::Node& node = spec.nodes.emplace_back();
    for (std::size_t s = 0; s < costs.size(); ++s)
      node.costs.push_back(costs[s] < kForbidden ? static_cast<double>(held[s]) : kForbidden);
  }
  for (const CostInstance::Edge& edge : instance.edges()) {
    const std::span<const double> matrix = instance.matrix(edge);
    const auto forbidden = [](double cost) { return cost == kForbidden; };
    if (std::none_of(matrix.begin(), matrix.end(), forbidden)) continue;
    std::vector<double> entries(matrix.begin(), matrix.end());
    for (double& cost : entries)
      cost = forbidden(cost) ? kForbidden : 0;
    spec.edges.push_back(
        {edge.first, edge.second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back({instance.num_strategies(edge.first),
                             instance.num_strategies(edge.second), std::move(entries)});
  }
  return CostInstance::make(std::move(spec));
}

std::int64_t peak(const CostInstance& instance, std::span<const std::uint32_t> choice,
                  std::size_t num_time_points) {
  const std::vector<std::int64_t> held = held_bytes(instance, choice);
  return *std::max_element(held.begin(),
                           held.begin() + static_cast<std::ptrdiff_t>(num_time_points));
}

}  // namespace

LeastMemory least_memory(const CostInstance& instance, std::size_t num_time_points,
                         Executor& executor, Budget& budget) {
  LeastMemory least;
  if (num_time_points == 0) return least;
  const std::vector<std::int64_t> sums = least_sums(instance, num_time_points);
  const auto worst = std::max_element(sums.begin(), sums.end());
  least.bytes = *worst;
  const Result<CostInstance> relaxed =
      bytes_as_costs(instance, static_cast<std::size_t>(worst - sums.begin()));
  if (!relaxed.ok()) return least;
  const SolveResult found = solve(*relaxed, executor, budget);
  least.impossible = found.status == SolveStatus::kInfeasible;
  if (found.choice.empty()) return least;
  const std::int64_t reached = peak(instance, found.choice, num_time_points);
  if (found.status == SolveStatus::kOptimal && num_time_points == 1) {
    least.bytes = reached;
  } else {
    // Allows for rounding, so that the bound is not too high.
    constexpr double kExactBelow = 0x1p53;
    const double bound = std::floor(found.lower_bound * (1 - 0x1p-50));
    if (bound < kExactBelow) least.bytes = std::max(least.bytes, static_cast<std::int64_t>(bound));
  }
  least.reached = reached == least.bytes;
  least.enough = reached;
  return least;
}

namespace {

using Choice = std::vector<std::uint32_t>;

// One call of solve(): the stages in order, with the best choice and bound so far.
// Thread safety: one thread at a time.
class Solver {
 public:
  Solver(const CostInstance& instance, Executor& executor, Budget& budget,
         const SolveOptions& options, const SolverParameters& parameters)
      : instance_(&instance),
        executor_(&executor),
        budget_(&budget),
        options_(&options),
        parameters_(&parameters) {}

  SolveResult run() {
    reduction_ = reduce(*instance_, *budget_, {}, parameters_->reduce);
    if (reduction_.infeasible) return end(SolveStatus::kInfeasible);
    core_cost_ = options_->cutoff - reduction_.constant;
    raise_bound(0);
    if (is_interrupted()) return end(SolveStatus::kUnknown);
    if (solve_by_tables()) return end_proved();
    if (is_interrupted()) return end(best_ ? SolveStatus::kFeasible : SolveStatus::kUnknown);
    if (!is_bounded() || is_large()) relax();
    if (is_proved()) return end_proved();
    if (!is_large()) {
      if (branch()) return end_proved();
    } else {
      improve();
    }
    if (is_proved()) return end_proved();
    return end(best_ ? SolveStatus::kFeasible : SolveStatus::kUnknown);
  }

 private:
  const CostInstance& core() const { return *reduction_.core; }

  // With a cutoff from the caller, branch and bound needs no first choice.
  bool is_bounded() const { return options_->cutoff < kForbidden; }

  bool is_large() const { return core().num_strategies() > stages().most_branched_strategies; }

  const StageParameters& stages() const { return parameters_->stages; }

  // Returns true if the core is solved.
  bool solve_by_tables() {
    const auto tree =
        BucketTree::make(core(), stages().most_table_entries, parameters_->order, *budget_);
    if (!tree) return false;
    const ExactResult exact =
        search_exactly(*tree, known(), stages().most_labels, *budget_, parameters_->exact);
    report_prices(exact.prices);
    return take(exact);
  }

  // Returns true if the core is solved.
  bool branch() {
    return take(branch_and_bound(
        core(), known(), ~std::size_t{0}, *executor_, *budget_,
        [this](const ExactResult& result) { (void)take(result); }, *parameters_));
  }

  // Finds a first choice, then lower bounds by dual ascent. Its messages suggest better choices.
  void relax() {
    graph_.emplace(core());
    if (auto first = first_feasible(*graph_, *budget_, options_->seed, parameters_->feasible)) {
      offer(std::move(*first));
    }
    if (is_large()) search_within_limits();
    if (is_interrupted()) return;
    DualAscent& dual = dual_.emplace(core(), std::vector<double>(), parameters_->dual);
    const int rounds = worthwhile_rounds(dual.work_of_round(stages().sweeps));
    for (int i = 0; i < rounds && !dual.stalled(stages().stretch, stages().progress) && !is_over();
         ++i) {
      const double blind = std::max(1.0, std::abs(dual.bound()) * stages().blind_target);
      dual.round(stages().sweeps, best_ ? core_cost_ : dual.bound() + blind, *budget_);
      offer(dual.choice());
      raise_bound(dual.bound());
      if (is_proved()) break;
    }
    report_dual();
  }

  // The best choice, its cost and the caller's prices, for the core.
  KnownSolution known() const {
    KnownSolution known{best_, core_cost_, {}};
    if (options_->prices.empty()) return known;
    for (const std::uint32_t time : reduction_.times)
      known.prices.push_back(options_->prices[time]);
    return known;
  }

  int worthwhile_rounds(std::uint64_t work_per_round) const {
    const std::uint64_t affordable =
        stages().most_relaxation_work / std::max<std::uint64_t>(work_per_round, 1);
    if (std::cmp_greater_equal(affordable, stages().most_rounds)) return stages().most_rounds;
    return std::cmp_less(affordable, stages().least_rounds) ? 1 : static_cast<int>(affordable);
  }

  // Finds an early answer for large cores by a local search that stays within the limits.
  void search_within_limits() {
    LocalSearchOptions options;
    options.descent_passes = stages().descent_passes;
    search_locally(std::move(options), [this](LocalSearch& search) {
      explore(search, *executor_, *budget_, [this](const LocalSearch& at) { take(at); });
    });
  }

  // Continues the ascent beside a local search, which starts from its choice and prices.
  void improve() {
    if (!dual_) return;
    LocalSearchOptions options;
    options.prices = dual_->prices();
    // The local search would keep what is forbidden, so it must not start with such a choice.
    if (evaluate(core(), dual_->best_choice()).total() < kForbidden)
      options.relaxed_start = dual_->best_choice();
    search_locally(std::move(options), [this](LocalSearch& search) {
      BoundedSearch both(search, *dual_, stages());
      explore(both, *executor_, *budget_, [this](const BoundedSearch& at) {
        take(at.search());
        raise_bound(at.dual().bound());
      });
    });
    report_dual();
  }

  template <class Run>
  void search_locally(LocalSearchOptions options, const Run& run) {
    if (!best_) return;
    options.seed = options_->seed;
    LocalSearch search(*graph_, *best_, executor_->workers(), std::move(options),
                       parameters_->local);
    run(search);
  }

  void take(const LocalSearch& search) {
    if (search.best_cost() < core_cost_) offer({search.best().begin(), search.best().end()});
  }

  bool is_interrupted() const { return budget_->interrupted().has_value(); }
  bool is_over() const { return is_interrupted() || !budget_->work_left(); }
  bool is_proved() const {
    return best_ && result_.lower_bound >= result_.objective * (1 - kProvedWithin);
  }

  // Keeps what an exact method found and proved. Returns true if the method finished.
  bool take(const ExactResult& exact) {
    if (exact.choice && exact.cost < core_cost_) offer(*exact.choice);
    if (exact.lower_bound < kForbidden) raise_bound(exact.lower_bound);
    return exact.finished;
  }

  void raise_bound(double core_bound) {
    const double bound = core_bound + reduction_.constant;
    if (started_ && bound <= result_.lower_bound) return;
    started_ = true;
    result_.lower_bound = std::max(0.0, bound);
    report();
  }

  // `prices`: by time point of the core.
  void report_prices(const std::vector<double>& prices) {
    result_.prices.assign(instance_->limits().size(), 0);
    for (std::size_t t = 0; t < prices.size(); ++t)
      result_.prices[reduction_.times[t]] = prices[t];
  }

  // Keeps the prices of the ascent unless another method has proved a better bound.
  void report_dual() {
    if (dual_->bound() + reduction_.constant >= result_.lower_bound) report_prices(dual_->prices());
  }

  void offer(Choice core_choice) {
    const CostEvaluation evaluation = evaluate(core(), core_choice);
    if (!evaluation.feasible() || evaluation.total() >= core_cost_) return;
    core_cost_ = evaluation.total();
    best_ = std::move(core_choice);
    result_.choice = reduction_.expand(*best_);
    result_.objective = evaluate(*instance_, result_.choice).total();
    result_.status = SolveStatus::kFeasible;
    report();
  }

  void report() const {
    if (options_->on_progress) options_->on_progress(result_);
  }

  SolveResult end_proved() {
    if (!best_) return end(SolveStatus::kInfeasible);
    result_.lower_bound = result_.objective;
    return end(SolveStatus::kOptimal);
  }

  SolveResult end(SolveStatus status) {
    result_.status = status;
    if (status == SolveStatus::kFeasible || status == SolveStatus::kUnknown) {
      result_.lower_bound = std::min(result_.lower_bound, best_ ? result_.objective : kForbidden);
      if (const auto reason = budget_->interrupted()) {
        result_.stopped_by = *reason;
      } else if (!budget_->work_left()) {
        result_.stopped_by = StopReason::kWorkLimit;
      }
    }
    return std::move(result_);
  }

  const CostInstance* instance_;
  Executor* executor_;
  Budget* budget_;
  const SolveOptions* options_;
  const SolverParameters* parameters_;
  Reduction reduction_;
  std::optional<ChoiceGraph> graph_;  // of the core
  std::optional<Choice> best_;        // for the core
  double core_cost_ = kForbidden;
  std::optional<DualAscent> dual_;  // of the core
  bool started_ = false;
  SolveResult result_;
};

}  // namespace

SolveResult solve(const CostInstance& instance, Executor& executor, Budget& budget,
                  const SolveOptions& options, const SolverParameters& parameters) {
  return Solver(instance, executor, budget, options, parameters).run();
}

}  // namespace shardwright::operators
