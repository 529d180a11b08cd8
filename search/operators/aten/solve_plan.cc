#include "search/operators/aten/solve_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace shardwright::operators {
namespace {

// The solver and the verifier add the same costs in different orders.
constexpr double kRounding = 1e-9;

AtenCounters count(const AtenProblem& problem) {
  const CostInstance& instance = problem.problem.lowered.graph();
  AtenCounters counters;
  counters.classes = problem.variables.num_classes();
  counters.strategies = instance.num_strategies();
  counters.edges = problem.num_edges;
  counters.matrices = instance.num_matrices();
  std::vector<char> counted(instance.num_matrices(), 0);
  for (const CostInstance::Edge& edge : instance.edges()) {
    if (std::exchange(counted[edge.matrix], char{1}) == 0)
      counters.matrix_entries += instance.matrix(edge).size();
  }
  return counters;
}

Error disagreement(const std::string& what) {
  return Error{ErrorCode::kVerificationFailed, "the verifier disagrees with the search: " + what,
               ""};
}

Status verify(const AtenRequest& request, const AtenSolution& solution, double objective) {
  const AtenEvaluation& evaluation = solution.evaluation;
  if (!evaluation.violations.empty()) return disagreement(evaluation.violations.front());
  if (std::abs(evaluation.total_us() - objective) > kRounding * std::max(1.0, objective)) {
    return disagreement("the times add up to " + std::to_string(evaluation.total_us()) + ", not " +
                        std::to_string(objective));
  }
  if (request.memory_limit && evaluation.peak_bytes > *request.memory_limit) {
    return disagreement("the plan holds " + std::to_string(evaluation.peak_bytes) + " bytes");
  }
  return {};
}

}  // namespace

Result<AtenSolution> solve_plan(const AtenGraph& graph, const AtenRequest& request,
                                TransitionCosts& transitions, Executor& executor, Budget& budget,
                                const ProblemSolveOptions& options) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const AtenProblem problem,
                               build_problem(graph, request, transitions, executor));
  const ProblemSolution solved = solve_problem(problem.problem, executor, budget, options);
  AtenSolution solution;
  solution.status = solved.status;
  solution.lower_bound_us = solved.lower_bound;
  solution.shortage = solved.shortage;
  solution.stopped_by = solved.stopped_by;
  solution.counters = count(problem);
  if (solved.choice.empty()) return solution;
  solution.plan = plan_of(problem.variables, solved.choice, transitions);
  solution.evaluation = evaluate(graph, *solution.plan,
                                 {request.device, transitions, request.optimizer_states});
  SHARDWRIGHT_RETURN_IF_ERROR(verify(request, solution, solved.objective));
  return solution;
}

}  // namespace shardwright::operators
