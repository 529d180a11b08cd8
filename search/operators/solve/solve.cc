#include "search/operators/solve/solve.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "search/explore.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/exact/branch_and_bound.h"
#include "search/operators/solve/exact/dual_ascent.h"
#include "search/operators/solve/exact/exact_search.h"
#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/local/descent.h"
#include "search/operators/solve/local/first_feasible.h"
#include "search/operators/solve/local/local_search.h"
#include "search/operators/solve/reduce/reduce.h"

namespace shardwright::operators {
namespace {

using Choice = std::vector<std::uint32_t>;

// Tables up to here take about a second.
constexpr double kMaxTableEntries = 2e7;
constexpr std::size_t kMaxLabels = 3'000'000;
// Branch and bound reduces its subproblems anew each time: larger cores are left to the local
// search.
constexpr std::size_t kMaxBranchedStrategies = 30'000;

// One run of the solver: the stages in order, the best choice and bound so far.
class Solver {
 public:
  Solver(const CostInstance& instance, Executor& executor, Budget& budget,
         const SolveOptions& options)
      : instance_(&instance), executor_(&executor), budget_(&budget), options_(&options) {}

  SolveResult run() {
    reduction_ = reduce(*instance_, *budget_);
    if (reduction_.infeasible) return end(SolveStatus::kInfeasible);
    raise_bound(0);
    if (const auto tree = BucketTree::make(core(), kMaxTableEntries)) {
      if (take(search_exactly(*tree, std::nullopt, kMaxLabels, *budget_))) return end_proved();
    }
    relax();
    if (is_proved()) return end_proved();
    if (!is_large()) {
      const bool finished =
          take(branch_and_bound(core(), best_, ~std::size_t{0}, *executor_, *budget_,
                                [this](const ExactResult& result) { (void)take(result); }));
      if (finished) return end_proved();
    } else {
      improve();
    }
    if (is_proved()) return end_proved();
    return end(best_ ? SolveStatus::kFeasible : SolveStatus::kUnknown);
  }

 private:
  const CostInstance& core() const { return *reduction_.core; }

  bool is_large() const { return core().num_strategies() > kMaxBranchedStrategies; }

  // A first choice, and bounds whose messages suggest better ones.
  void relax() {
    graph_.emplace(core());
    if (auto first = first_feasible(*graph_, *budget_, options_->seed)) {
      offer(*first);
      descend(*graph_, *first, *budget_);
      offer(std::move(*first));
    }
    if (is_large()) search_within_limits();
    constexpr int kSweeps = 4;
    DualAscent dual(core());
    int rounds_left = kMaxRounds;
    for (int i = 0; i < rounds_left && !dual.stalled() && !is_over(); ++i) {
      const double fallback = dual.bound() + std::max(1.0, std::abs(dual.bound()) * 0.05);
      const std::uint64_t before = budget_->work_done();
      dual.round(kSweeps, best_ ? core_cost_ : fallback, *budget_);
      if (i == 0) rounds_left = worthwhile_rounds(budget_->work_done() - before);
      offer(dual.choice());
      raise_bound(dual.bound());
      if (is_proved()) break;
    }
    prices_ = dual.prices();
    // What is forbidden has no way back.
    if (evaluate(core(), dual.choice()).total() < kForbidden) relaxed_ = dual.choice();
  }

  // Prices that have moved a few times only are worth nothing to the local search.
  static int worthwhile_rounds(std::uint64_t work_per_round) {
    const auto affordable = kMaxRelaxationWork / std::max<std::uint64_t>(work_per_round, 1);
    if (affordable >= kMaxRounds) return kMaxRounds;
    return affordable < kMinRounds ? 1 : static_cast<int>(affordable);
  }

  // The local search at its simplest, for an answer that is not too dear, soon.
  void search_within_limits() {
    LocalSearchOptions options;
    options.descent_passes = kDescentPasses;
    search_locally(std::move(options));
  }

  void improve() {
    LocalSearchOptions options;
    options.prices = prices_;
    options.relaxed_start = relaxed_;
    options.patience = kPatience;
    search_locally(std::move(options));
  }

  void search_locally(LocalSearchOptions options) {
    if (!best_) return;
    options.seed = options_->seed;
    LocalSearch search(*graph_, *best_, executor_->workers(), std::move(options));
    explore(search, *executor_, *budget_, [this](const LocalSearch& at) {
      if (at.best_cost() < core_cost_) offer({at.best().begin(), at.best().end()});
    });
  }

  bool is_over() const { return budget_->interrupted() || !budget_->work_left(); }
  bool is_proved() const { return best_ && result_.lower_bound >= result_.objective * (1 - 1e-9); }

  // What an exact method knows; whether it came to its end.
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

  static constexpr std::size_t kPatience = 2000;
  static constexpr std::uint64_t kDescentPasses = 2;
  static constexpr int kMaxRounds = 400;
  static constexpr int kMinRounds = 60;
  static constexpr std::uint64_t kMaxRelaxationWork = 4'000'000'000;

  const CostInstance* instance_;
  Executor* executor_;
  Budget* budget_;
  const SolveOptions* options_;
  Reduction reduction_;
  std::optional<ChoiceGraph> graph_;  // of the core
  std::optional<Choice> best_;        // for the core
  double core_cost_ = kForbidden;
  std::vector<double> prices_;
  Choice relaxed_;  // what the messages of the dual suggest, whatever it holds
  bool started_ = false;
  SolveResult result_;
};

}  // namespace

SolveResult solve(const CostInstance& instance, Executor& executor, Budget& budget,
                  const SolveOptions& options) {
  return Solver(instance, executor, budget, options).run();
}

}  // namespace shardwright::operators
