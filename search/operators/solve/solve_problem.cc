#include "search/operators/solve/solve_problem.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "core/check.h"
#include "search/operators/solve/solve.h"

namespace shardwright::operators {
namespace {

// Returns the most bytes that `choice` holds at any of the first `num_time_points` time points.
std::int64_t peak_of(const CostInstance& instance, const std::vector<std::uint32_t>& choice,
                     std::size_t num_time_points) {
  const std::vector<std::int64_t> held = held_bytes(instance, choice);
  std::int64_t peak = 0;
  for (std::size_t t = 0; t < num_time_points; ++t)
    peak = std::max(peak, held[t]);
  return peak;
}

// One call of solve_problem(). Thread safety: one thread at a time.
class ProblemSolver {
 public:
  ProblemSolver(const OperatorProblem& problem, Executor& executor, Budget& budget,
                const ProblemSolveOptions& options)
      : problem_(problem), executor_(executor), budget_(budget), options_(options) {}

  ProblemSolution run() {
    const CostInstance& instance = problem_.lowered.instance();
    if (problem_.soft_budget) {
      solve_soft();
    } else {
      keep_if_better(solve_instance(instance, 0), instance);
    }
    if (solution_.status == SolveStatus::kInfeasible) find_shortage();
    apply_max_cost();
    return std::move(solution_);
  }

 private:
  double overbudget_cost(std::int64_t peak) const {
    if (!problem_.soft_budget || peak <= problem_.soft_budget->bytes) return 0;
    return problem_.soft_budget->cost_per_byte *
           static_cast<double>(peak - problem_.soft_budget->bytes);
  }

  // `other_bound`: a lower bound of the choices that this instance's limits exclude; 0: none.
  SolveResult solve_instance(const CostInstance& instance, double other_bound) {
    SolveOptions options;
    options.seed = options_.seed;
    if (options_.on_progress) {
      options.on_progress = [&](const SolveResult& found) { report(instance, found, other_bound); };
    }
    SolveResult found = solve(instance, executor_, budget_, options, options_.parameters);
    solution_.stopped_by = found.stopped_by;
    solution_.prices = found.prices;
    return found;
  }

  void report(const CostInstance& instance, const SolveResult& found, double other_bound) {
    SolutionProgress progress;
    progress.lower_bound =
        other_bound > 0 ? std::min(other_bound, found.lower_bound) : found.lower_bound;
    progress.choice = solution_.choice;
    progress.objective = solution_.objective;
    if (!found.choice.empty()) {
      const double objective =
          found.objective +
          overbudget_cost(peak_of(instance, found.choice, problem_.num_memory_time_points));
      if (progress.choice.empty() || objective < progress.objective) {
        progress.choice = problem_.lowered.operator_choice(found.choice);
        progress.objective = objective;
      }
    }
    options_.on_progress(progress);
  }

  // Returns the peak of the choice found; 0 if there is none.
  std::int64_t keep_if_better(const SolveResult& found, const CostInstance& instance) {
    if (found.choice.empty()) {
      if (solution_.choice.empty()) {
        solution_.status = found.status;
        solution_.lower_bound = found.lower_bound;
      }
      return 0;
    }
    SHARDWRIGHT_CHECK(evaluate(instance, found.choice).feasible());
    const std::int64_t peak = peak_of(instance, found.choice, problem_.num_memory_time_points);
    const double over = overbudget_cost(peak);
    if (solution_.choice.empty() || found.objective + over < solution_.objective) {
      solution_.choice = problem_.lowered.operator_choice(found.choice);
      solution_.objective = found.objective + over;
      solution_.overbudget_cost = over;
      solution_.peak_bytes = peak;
      solution_.status = found.status;
      solution_.lower_bound = found.lower_bound;
    }
    return peak;
  }

  // Solves instances with a falling hard limit. The optimum under a hard limit is the cheapest of
  // all choices whose peak is at most the limit. So only choices of a lower peak can be better
  // overall, and they save at most the overbudget cost. The limit falls until nothing can be saved.
  void solve_soft() {
    const std::int64_t soft = problem_.soft_budget->bytes;
    const CostInstance& whole = problem_.lowered.instance();
    std::int64_t limit = std::numeric_limits<std::int64_t>::max();
    for (;;) {
      std::vector<std::int64_t> limits(whole.limits().begin(), whole.limits().end());
      std::fill_n(limits.begin(), problem_.num_memory_time_points, limit);
      const CostInstance instance = whole.with_limits(std::move(limits));
      const bool first = solution_.choice.empty();
      const SolveResult found = solve_instance(instance, first ? 0 : solution_.objective);
      const std::int64_t peak = keep_if_better(found, instance);
      if (found.status == SolveStatus::kInfeasible) break;
      if (found.status != SolveStatus::kOptimal) {
        finish_soft(SolveStatus::kFeasible,
                    std::min(first ? found.lower_bound : solution_.objective, found.lower_bound));
        return;
      }
      if (peak <= soft) break;
      const double savable = (solution_.objective - found.objective) /
                             std::max(problem_.soft_budget->cost_per_byte, 1e-300);
      if (!(savable > 0)) break;
      const std::int64_t highest =
          savable < 4e18 ? soft + static_cast<std::int64_t>(std::floor(savable)) : peak - 1;
      limit = std::max(soft, std::min(peak - 1, highest));
    }
    finish_soft(SolveStatus::kOptimal, solution_.objective);
  }

  void finish_soft(SolveStatus status, double lower_bound) {
    if (solution_.choice.empty()) return;
    solution_.lower_bound = std::min(lower_bound, solution_.objective);
    solution_.status = status;
  }

  // Finds out whether memory is why no choice exists, and how much memory a choice needs.
  void find_shortage() {
    const CostInstance& instance = problem_.lowered.instance();
    const std::size_t count = problem_.num_memory_time_points;
    if (problem_.soft_budget || count == 0) return;
    const auto limits = instance.limits().first(count);
    const std::int64_t limit = *std::min_element(limits.begin(), limits.end());
    const LeastMemory least = least_memory(instance, count, executor_, budget_);
    if (least.impossible || least.bytes <= limit) return;
    solution_.shortage = MemoryShortage{limit, least.bytes, least.reached, least.enough};
  }

  // Drops a choice that costs more than the problem allows.
  void apply_max_cost() {
    if (!problem_.max_cost) return;
    const bool bound_exceeds = solution_.lower_bound > *problem_.max_cost;
    const bool too_dear = !solution_.choice.empty() && solution_.objective > *problem_.max_cost;
    if (!too_dear && !(solution_.choice.empty() && bound_exceeds)) return;
    const bool proved = solution_.status == SolveStatus::kOptimal || bound_exceeds;
    solution_.choice.clear();
    solution_.objective = 0;
    solution_.overbudget_cost = 0;
    solution_.status = proved ? SolveStatus::kInfeasible : SolveStatus::kUnknown;
  }

  const OperatorProblem& problem_;
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  ProblemSolution solution_;
};

}  // namespace

ProblemSolution solve_problem(const OperatorProblem& problem, Executor& executor, Budget& budget,
                              const ProblemSolveOptions& options) {
  return ProblemSolver(problem, executor, budget, options).run();
}

}  // namespace shardwright::operators
