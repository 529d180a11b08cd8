#include "runtime/operators/solve.h"

#include <array>
#include <utility>

#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/operators/portfolio.h"
#include "search/budget.h"

namespace shardwright {

using operators::SolveStatus;

namespace {

constexpr std::array<std::string_view, 5> kStatusNames{"optimal", "feasible", "infeasible", "unknown",
                                                       "within_gap"};

}  // namespace

std::span<const std::string_view> operators::names_of(SolveStatus) { return kStatusNames; }

const char* name_of(SolveStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)].data();
}

std::string shortage_text(const operators::MemoryShortage& shortage) {
  const bool is_short = shortage.minimum_bytes > shortage.limit_bytes;
  return "the memory limit is " + std::to_string(shortage.limit_bytes) + " bytes" +
         (is_short ? ", but " : "; ") +
         (shortage.minimum_is_exact ? "the least that any choice needs is "
                                    : "every choice needs at least ") +
         std::to_string(shortage.minimum_bytes) +
         (shortage.enough_bytes && !shortage.minimum_is_exact
              ? ", and " + std::to_string(*shortage.enough_bytes) + " are enough"
              : "");
}

Result<OperatorsResult> solve_operators(const operators::OperatorProblem& problem,
                                        const OperatorsOptions& options) {
  if (options.exchange != nullptr) return solve_portfolio(problem, options);
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  const Stopwatch watch;
  Budget budget(options.work_limit, options.time_limit_s, options.stop);
  PlanningExecutor executor(options.threads);
  operators::ProblemSolveOptions solving;
  solving.seed = options.seed;
  if (options.on_progress) {
    solving.on_progress = [&](const operators::SolutionProgress& progress) {
      options.on_progress(OperatorsProgress{progress, watch.seconds()});
    };
  }
  OperatorsResult result{operators::solve_problem(problem, executor, budget, solving)};
  result.work = budget.work_done();
  result.threads = static_cast<int>(executor.workers());
  result.solve_s = watch.seconds();
  return result;
}

}  // namespace shardwright
