#include "runtime/io/operators/solve_json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/io/json/json_members.h"

namespace shardwright {
namespace {

// Why there is no choice.
struct SolutionError {
  std::string type;
  std::string message;
  std::optional<std::int64_t> limit_bytes, minimum_bytes;
  std::optional<bool> minimum_is_exact;
};

struct Solution {
  operators::SolveStatus status = operators::SolveStatus::kUnknown;
  std::optional<double> objective;
  std::optional<std::vector<std::uint32_t>> choice;
  std::optional<std::vector<std::string>> names;
  std::optional<SolutionError> error;
  std::optional<std::int64_t> peak_bytes;
  std::optional<double> overbudget_cost;
  std::optional<double> lower_bound;
  std::uint64_t work = 0;
  int threads = 1;
  StopReason stopped_by = StopReason::kFinished;
  double solve_s = 0;
  double seconds = 0;
};

void describe(JsonMembers& members, SolutionError& error) {
  members.required("type", error.type)
      .required("message", error.message)
      .optional("limit_bytes", error.limit_bytes)
      .optional("minimum_bytes", error.minimum_bytes, "Every choice needs at least this much.")
      .optional("minimum_is_exact", error.minimum_is_exact, "Whether some choice needs no more.");
}

void describe(JsonMembers& members, Solution& solution) {
  members.required("status", solution.status)
      .line()
      .required("objective", solution.objective, "Cost of the choice.")
      .line()
      .required("choice", solution.choice, "Strategy of each operator.")
      .line()
      .optional("names", solution.names, "Names of the chosen strategies.")
      .line()
      .optional("error", solution.error, "Why there is no choice.")
      .line()
      .optional("peak_bytes", solution.peak_bytes)
      .optional("overbudget_cost", solution.overbudget_cost,
                "Part of the cost: the price of exceeding the soft budget.")
      .line()
      .required("lower_bound", solution.lower_bound, "No choice costs less.")
      .line()
      .required("work", solution.work, "Strategy evaluations.")
      .required("threads", solution.threads)
      .required("stopped_by", solution.stopped_by, "What ended the search early.")
      .line()
      .required("solve_seconds", solution.solve_s)
      .required("seconds", solution.seconds, "With reading.");
}

std::optional<SolutionError> error_of(const OperatorsResult& result) {
  if (const auto& shortage = result.shortage) {
    return SolutionError{"insufficient_memory", shortage_text(*shortage), shortage->limit_bytes,
                         shortage->minimum_bytes, shortage->minimum_is_exact};
  }
  if (result.status != operators::SolveStatus::kInfeasible) return {};
  return SolutionError{
      "no_choice", "no choice keeps every limit and avoids what is forbidden", {}, {}, {}};
}

}  // namespace

void write_solution(const operators::OperatorProblem& problem, const OperatorsResult& result,
                    double seconds, const TextSink& sink) {
  Solution solution;
  solution.status = result.status;
  if (!result.choice.empty() || result.status == operators::SolveStatus::kOptimal) {
    solution.objective = result.objective;
    solution.choice = result.choice;
    if (!problem.strategy_names.empty()) solution.names.emplace();
    for (std::size_t n = 0; solution.names && n < result.choice.size(); ++n)
      solution.names->push_back(problem.strategy_names[n][result.choice[n]]);
    solution.peak_bytes = result.peak_bytes;
    if (problem.soft_budget) solution.overbudget_cost = result.overbudget_cost;
  }
  solution.error = error_of(result);
  solution.lower_bound = result.lower_bound;
  solution.work = result.work;
  solution.threads = result.threads;
  solution.stopped_by = result.stopped_by;
  solution.solve_s = result.solve_s;
  solution.seconds = seconds;
  write_json(solution, sink);
}

JsonShape solution_shape() { return shape_of(Solution()).says("What `operators solve` answers."); }

}  // namespace shardwright
