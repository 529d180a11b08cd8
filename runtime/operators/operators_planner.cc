// Solves operator problems, soft budgets and cost limits included.
#include "runtime/operators/operators_planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/tbb_executor.h"
#include "search/budget.h"
#include "search/operators/solve/least_memory.h"

namespace shardwright {
namespace {

using operators::CostInstance;
using operators::OperatorProblem;
using operators::SolveResult;
using operators::SolveStatus;

// The most that is held at any of the first `num_time_points`.
std::int64_t peak_bytes(const CostInstance& instance, const std::vector<std::uint32_t>& choice,
                        std::size_t num_time_points) {
  const std::vector<std::int64_t> held = operators::held_bytes(instance, choice);
  std::int64_t peak = 0;
  for (std::size_t t = 0; t < num_time_points; ++t)
    peak = std::max(peak, held[t]);
  return peak;
}

// One solving call.
// Thread safety: one thread at a time.
class Planner {
 public:
  Planner(const OperatorProblem& problem, const OperatorsOptions& options)
      : problem_(problem),
        options_(options),
        budget_(options.work_limit, options.time_limit_s, options.stop),
        executor_(options.threads) {}

  OperatorsResult run() {
    if (problem_.soft_budget) {
      solve_soft();
    } else {
      keep_if_better(solve(problem_.lowered.instance(), 0), problem_.lowered.instance());
    }
    if (result_.status == SolveStatus::kInfeasible) explain();
    apply_max_cost();
    result_.work = budget_.work_done();
    result_.threads = static_cast<int>(executor_.workers());
    result_.solve_s = elapsed_s();
    return std::move(result_);
  }

 private:
  double elapsed_s() const {
    return std::chrono::duration<double>(Budget::Clock::now() - start_).count();
  }

  double overbudget_cost(std::int64_t peak) const {
    if (!problem_.soft_budget || peak <= problem_.soft_budget->bytes) return 0;
    return problem_.soft_budget->cost_per_byte *
           static_cast<double>(peak - problem_.soft_budget->bytes);
  }

  // No choice that a call does not look for is below `other_bound`.
  SolveResult solve(const CostInstance& instance, double other_bound) {
    operators::SolveOptions options;
    options.seed = options_.seed;
    if (options_.on_progress) {
      options.on_progress = [&](const SolveResult& found) { report(instance, found, other_bound); };
    }
    SolveResult found = operators::solve(instance, executor_, budget_, options);
    result_.stopped_by = name_of(found.stopped_by);
    return found;
  }

  void report(const CostInstance& instance, const SolveResult& found, double other_bound) {
    OperatorsProgress progress;
    progress.elapsed_s = elapsed_s();
    progress.lower_bound =
        other_bound > 0 ? std::min(other_bound, found.lower_bound) : found.lower_bound;
    progress.choice = result_.choice;
    progress.objective = result_.objective;
    if (!found.choice.empty()) {
      const double objective =
          found.objective +
          overbudget_cost(peak_bytes(instance, found.choice, problem_.num_memory_time_points));
      if (progress.choice.empty() || objective < progress.objective) {
        progress.choice = problem_.lowered.operator_choice(found.choice);
        progress.objective = objective;
      }
    }
    options_.on_progress(progress);
  }

  // Returns the peak of what was found.
  std::int64_t keep_if_better(const SolveResult& found, const CostInstance& instance) {
    if (found.choice.empty()) {
      if (result_.choice.empty()) result_.status = found.status;
      if (result_.choice.empty()) result_.lower_bound = found.lower_bound;
      return 0;
    }
    SHARDWRIGHT_CHECK(evaluate(instance, found.choice).feasible());
    const std::int64_t peak = peak_bytes(instance, found.choice, problem_.num_memory_time_points);
    const double over = overbudget_cost(peak);
    if (result_.choice.empty() || found.objective + over < result_.objective) {
      result_.choice = problem_.lowered.operator_choice(found.choice);
      result_.objective = found.objective + over;
      result_.overbudget_cost = over;
      result_.peak_bytes = peak;
      result_.status = found.status;
      result_.lower_bound = found.lower_bound;
    }
    return peak;
  }

  // The cheapest choice under a hard limit costs least among all of its peak and below, so only
  // lower peaks can be better, and only by what they save in overbudget cost: limits fall until
  // nothing can be saved.
  void solve_soft() {
    const std::int64_t soft = problem_.soft_budget->bytes;
    std::int64_t limit = std::numeric_limits<std::int64_t>::max();
    for (;;) {
      std::vector<std::int64_t> limits(problem_.lowered.instance().limits().begin(),
                                       problem_.lowered.instance().limits().end());
      std::fill_n(limits.begin(), problem_.num_memory_time_points, limit);
      const CostInstance instance = problem_.lowered.instance().with_limits(std::move(limits));
      const bool first = result_.choice.empty();
      const SolveResult found = solve(instance, first ? 0 : result_.objective);
      const std::int64_t peak = keep_if_better(found, instance);
      if (found.status == SolveStatus::kInfeasible) break;
      if (found.status != SolveStatus::kOptimal) {
        finish_soft(SolveStatus::kFeasible,
                    std::min(first ? found.lower_bound : result_.objective, found.lower_bound));
        return;
      }
      if (peak <= soft) break;
      const double savable = (result_.objective - found.objective) /
                             std::max(problem_.soft_budget->cost_per_byte, 1e-300);
      if (!(savable > 0)) break;
      const std::int64_t highest =
          savable < 4e18 ? soft + static_cast<std::int64_t>(std::floor(savable)) : peak - 1;
      limit = std::max(soft, std::min(peak - 1, highest));
    }
    finish_soft(SolveStatus::kOptimal, result_.objective);
  }

  void finish_soft(SolveStatus status, double lower_bound) {
    if (result_.choice.empty()) return;
    result_.lower_bound = std::min(lower_bound, result_.objective);
    result_.status = status;
  }

  // Whether memory is why there is no choice, and how much it would take.
  void explain() {
    const CostInstance& instance = problem_.lowered.instance();
    const std::size_t count = problem_.num_memory_time_points;
    if (problem_.soft_budget || count == 0) return;
    const auto limits = instance.limits().first(count);
    const std::int64_t limit = *std::min_element(limits.begin(), limits.end());
    const operators::LeastMemory least =
        operators::least_memory(instance, count, executor_, budget_);
    if (least.impossible || least.bytes <= limit) return;
    result_.shortage = MemoryShortage{limit, least.bytes, least.reached};
  }

  // What costs more than is allowed is no answer.
  void apply_max_cost() {
    if (!problem_.max_cost) return;
    const bool too_dear = !result_.choice.empty() && result_.objective > *problem_.max_cost;
    const bool proved =
        result_.status == SolveStatus::kOptimal || result_.lower_bound > *problem_.max_cost;
    if (!too_dear && !(result_.choice.empty() && result_.lower_bound > *problem_.max_cost)) return;
    result_.choice.clear();
    result_.objective = 0;
    result_.overbudget_cost = 0;
    result_.status = proved ? SolveStatus::kInfeasible : SolveStatus::kUnknown;
  }

  const OperatorProblem& problem_;
  const OperatorsOptions& options_;
  Budget::Clock::time_point start_ = Budget::Clock::now();
  Budget budget_;
  TbbExecutor executor_;
  OperatorsResult result_;
};

}  // namespace

const char* name_of(SolveStatus status) {
  switch (status) {
    case SolveStatus::kOptimal:
      return "optimal";
    case SolveStatus::kFeasible:
      return "feasible";
    case SolveStatus::kInfeasible:
      return "infeasible";
    case SolveStatus::kUnknown:
      return "unknown";
  }
  return "";
}

std::string shortage_text(const MemoryShortage& shortage) {
  return "the memory limit is " + std::to_string(shortage.limit_bytes) + " bytes, but " +
         (shortage.minimum_is_exact ? "the least that any choice needs is "
                                    : "every choice needs at least ") +
         std::to_string(shortage.minimum_bytes);
}

Result<OperatorsResult> solve_operators(const OperatorProblem& problem,
                                        const OperatorsOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  return Planner(problem, options).run();
}

}  // namespace shardwright
