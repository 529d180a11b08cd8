#include "search/operators/aten/solve_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "search/operators/aten/model/aten_problem.h"
#include "search/operators/aten/sieve/limited_search.h"
#include "search/operators/aten/sieve/sieved_search.h"

namespace shardwright::operators {
namespace {

// The solver and the verifier add the same costs in different orders.
constexpr double kRounding = 1e-9;

// Where the search by prices finds no plan within the memory limit, the problem of all choices is
// solved as a whole if its matrices have at most so many entries.
constexpr double kMostEntries = 3e8;

AtenCounters count(const AtenModel& model) {
  AtenCounters counters;
  counters.classes = model.variables.num_classes();
  for (const std::vector<double>& costs : model.costs)
    counters.strategies += costs.size();
  counters.edges = model.transfers.edges.size();
  counters.transfers = model.transfers.transfers.size();
  for (const AtenTransfer& transfer : model.transfers.transfers)
    counters.transitions += transfer.costs.size();
  return counters;
}

// Of the matrices of all choices.
double num_entries(const AtenModel& model) {
  double sum = 0;
  for (const AtenTransfers::Edge& edge : model.transfers.edges) {
    sum += static_cast<double>(model.costs[edge.first].size()) *
           static_cast<double>(model.costs[edge.second].size());
  }
  return sum;
}

Error disagreement(const std::string& what) {
  return Error{ErrorCode::kVerificationFailed, "the verifier disagrees with the search: " + what,
               ""};
}

Status verify(const AtenSolution& solution, double objective) {
  const AtenEvaluation& evaluation = solution.evaluation;
  if (!evaluation.violations.empty()) return disagreement(evaluation.violations.front());
  if (std::abs(evaluation.total_us() - objective) > kRounding * std::max(1.0, objective)) {
    return disagreement("the times add up to " + std::to_string(evaluation.total_us()) + ", not " +
                        std::to_string(objective));
  }
  return {};
}

// Solves one request, and judges what comes out.
// Thread safety: one thread at a time.
class PlanSolver {
 public:
  PlanSolver(const AtenGraph& graph, const AtenRequest& request, TransitionCosts& transitions,
             Executor& executor, Budget& budget, const ProblemSolveOptions& options)
      : graph_(graph),
        request_(request),
        transitions_(transitions),
        executor_(executor),
        budget_(budget),
        options_(options) {}

  Result<AtenSolution> run() {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const AtenModel model,
                                 build_model(graph_, request_, transitions_, executor_));
    solution_.counters = count(model);
    if (request_.memory_limit) {
      const std::int64_t least = least_peak(model.usages);
      if (least > *request_.memory_limit) {
        solution_.status = SolveStatus::kInfeasible;
        solution_.shortage = MemoryShortage{*request_.memory_limit, least, false};
        return std::move(solution_);
      }
    }
    ChoiceSieve sieve(model, {});
    SHARDWRIGHT_ASSIGN_OR_RETURN(const SievedSolution sieved,
                                 sieved_search(model, sieve, executor_, budget_, options_));
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, sieved));
    if (!request_.memory_limit || !solution_.plan || !exceeds()) return std::move(solution_);
    solution_.without_limit_us = solution_.evaluation.total_us();
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const std::optional<SievedSolution> limited,
        limited_search(model, sieved, *request_.memory_limit, executor_, budget_, options_));
    if (limited) {
      SHARDWRIGHT_RETURN_IF_ERROR(take(model, *limited));
      return check_limit();
    }
    if (num_entries(model) <= kMostEntries && !budget_.interrupted()) {
      SHARDWRIGHT_RETURN_IF_ERROR(solve_all(model));
      return check_limit();
    }
    solution_.status = SolveStatus::kUnknown;
    solution_.plan.reset();
    solution_.stopped_by = budget_.interrupted().value_or(StopReason::kWorkLimit);
    return std::move(solution_);
  }

 private:
  Result<AtenSolution> check_limit() {
    if (!solution_.plan || !exceeds()) return std::move(solution_);
    return disagreement("the plan holds " + std::to_string(solution_.evaluation.peak_bytes) +
                        " bytes");
  }

  bool exceeds() const { return solution_.evaluation.peak_bytes > *request_.memory_limit; }

  // Judges a choice by variable, and makes it the plan.
  Status take(const AtenModel& model, const SievedSolution& solved) {
    solution_.status = solved.status;
    solution_.lower_bound_us = solved.lower_bound;
    solution_.stopped_by = solved.stopped_by;
    solution_.counters.kept = solved.kept;
    solution_.plan.reset();
    solution_.evaluation = {};
    if (solved.choice.empty()) return {};
    solution_.plan = plan_of(model.variables, solved.choice, transitions_);
    solution_.evaluation = evaluate(graph_, *solution_.plan,
                                    {request_.device, transitions_, request_.optimizer_states});
    return verify(solution_, solved.objective);
  }

  // Finds out whether any plan is within the limit.
  Status solve_all(const AtenModel& model) {
    const KeptChoices kept = all_choices(model);
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem,
                                 lower(model, kept, request_.memory_limit));
    const ProblemSolution solved = solve_problem(problem, executor_, budget_, options_);
    SievedSolution all;
    all.status = solved.status;
    all.objective = solved.objective;
    all.lower_bound = std::max(solution_.lower_bound_us, solved.lower_bound);
    all.stopped_by = solved.stopped_by;
    if (!solved.choice.empty()) all.choice = chosen(kept, solved.choice);
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, all));
    solution_.shortage = solved.shortage;
    return {};
  }

  const AtenGraph& graph_;
  const AtenRequest& request_;
  TransitionCosts& transitions_;
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  AtenSolution solution_;
};

}  // namespace

Result<AtenSolution> solve_plan(const AtenGraph& graph, const AtenRequest& request,
                                TransitionCosts& transitions, Executor& executor, Budget& budget,
                                const ProblemSolveOptions& options) {
  return PlanSolver(graph, request, transitions, executor, budget, options).run();
}

}  // namespace shardwright::operators
