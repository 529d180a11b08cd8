#include "search/operators/aten/solve_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "search/operators/aten/contraction/contracted_model.h"
#include "search/operators/aten/counted_moves.h"
#include "search/operators/aten/lightest_plan.h"
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
        options_(options),
        moves_(request.optimizer_states) {}

  Result<AtenSolution> run() {
    SHARDWRIGHT_ASSIGN_OR_RETURN(AtenModel model,
                                 build_model(graph_, request_, transitions_, executor_));
    std::optional<ContractedModel> contracted(std::in_place, model, executor_);
    std::optional<ChoiceSieve> sieve(std::in_place, contracted->model(), SieveParameters());
    ProblemSolveOptions options = options_;
    if (options_.on_progress) {
      options.on_progress = [&](SolutionProgress progress) {
        progress.choice = contracted->expand(std::move(progress.choice));
        options_.on_progress(progress);
      };
    }
    const auto search = [&](SieveGoal goal) -> Result<SievedSolution> {
      SHARDWRIGHT_ASSIGN_OR_RETURN(
          SievedSolution found,
          sieved_search(contracted->model(), *sieve, executor_, budget_, options, goal));
      if (!found.choice.empty()) found.choice = contracted->expand(std::move(found.choice));
      return found;
    };
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        SievedSolution cheapest,
        search(request_.memory_limit ? SieveGoal::kAnyPlan : SieveGoal::kOptimum));
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, cheapest));
    if (!request_.memory_limit || !solution_.plan) return std::move(solution_);
    if (!exceeds()) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(cheapest, search(SieveGoal::kOptimum));
      SHARDWRIGHT_RETURN_IF_ERROR(take(model, cheapest));
      if (!exceeds()) return std::move(solution_);
    }
    solution_.without_limit_us = solution_.evaluation.total_us();
    sieve.reset();  // takes as much memory as the model
    contracted.reset();
    return within_limit(std::move(model), cheapest);
  }

 private:
  // Where a plan that was found exceeds the limit because of tensors that do not count, these get
  // movers, and the search begins again. What it gives is the best plan if that holds no more than
  // it may with all tensors. Where it gives nothing, the lightest plan decides.
  Result<AtenSolution> within_limit(AtenModel model, const SievedSolution& cheapest) {
    std::optional<AtenPlan> heavy = solution_.plan;
    bool is_searched = false;
    bool is_light_known = false;
    do {
      if (heavy && moves_.add(model.variables, *heavy, *request_.memory_limit)) {
        SHARDWRIGHT_ASSIGN_OR_RETURN(
            model, build_model(graph_, request_, transitions_, executor_, moves_.tensors()));
      } else if (heavy && is_searched) {
        return disagreement("the plan holds more than " + std::to_string(*request_.memory_limit) +
                            " bytes");
      }
      SHARDWRIGHT_RETURN_IF_ERROR(solve_within_limit(model, cheapest));
      is_searched = true;
      heavy.reset();
      if (solution_.plan && exceeds()) {
        heavy = solution_.plan;
        continue;
      }
      if (solution_.plan || is_light_known || budget_.interrupted()) break;
      is_light_known = true;
      SHARDWRIGHT_ASSIGN_OR_RETURN(
          const LightestPlan light,
          lightest_plan(graph_, request_, transitions_, cheapest, executor_, budget_, options_));
      if (!offer(light)) {
        SHARDWRIGHT_RETURN_IF_ERROR(explain(model, light));
        break;
      }
    } while (!budget_.interrupted());
    return best_of_all();
  }

  // The last solution, or the best plan that fits, with the last bound.
  AtenSolution best_of_all() {
    const bool fits = solution_.plan && !exceeds();
    const bool is_worse =
        fitting_ && (!fits || fitting_->evaluation.total_us() < solution_.evaluation.total_us());
    if (!is_worse) {
      if (!fits && solution_.plan) {
        solution_.plan.reset();
        solution_.evaluation = {};
        solution_.status = SolveStatus::kUnknown;
      }
      return std::move(solution_);
    }
    fitting_->lower_bound_us =
        std::max(fitting_->lower_bound_us,
                 std::min(solution_.lower_bound_us, fitting_->evaluation.total_us()));
    fitting_->stopped_by = solution_.stopped_by;
    return *std::move(fitting_);
  }

  Status solve_within_limit(const AtenModel& model, const SievedSolution& cheapest) {
    if (least_peak(model.usages) <= *request_.memory_limit) {
      SievedSolution known = cheapest;
      choose_movers(model.variables, transitions_, known.choice);
      LimitedContext context;
      context.kept = &kept_;
      context.accepts = [&](const SievedSolution& found) {
        return take(model, found).ok() && keep_if_fitting();
      };
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<SievedSolution> limited,
                                   limited_search(model, known, *request_.memory_limit, context,
                                                  executor_, budget_, options_));
      if (limited) return take(model, *limited);
    }
    solution_.counters = count(model);
    solution_.status = SolveStatus::kUnknown;
    solution_.plan.reset();
    solution_.stopped_by = budget_.interrupted().value_or(StopReason::kWorkLimit);
    return {};
  }

  bool keep_if_fitting() {
    if (exceeds()) return false;
    if (solution_.status != SolveStatus::kOptimal) solution_.status = SolveStatus::kFeasible;
    if (!fitting_ || solution_.evaluation.total_us() < fitting_->evaluation.total_us())
      fitting_ = solution_;
    return true;
  }

  // Returns true if the plan fits: the search can begin from it.
  bool offer(const LightestPlan& light) {
    if (!light.plan || light.evaluation.peak_bytes > *request_.memory_limit) return false;
    fitting_ = solution_;
    fitting_->status = SolveStatus::kFeasible;
    fitting_->plan = light.plan;
    fitting_->evaluation = light.evaluation;
    kept_.resize(light.choice.size());
    KeptChoices chosen;
    for (const std::uint32_t choice : light.choice)
      chosen.push_back({choice});
    add_choices(chosen, kept_);
    return true;
  }

  // Says why no plan was found: what the lightest one holds, and whether it must hold too much.
  Status explain(const AtenModel& model, const LightestPlan& light) {
    const std::int64_t limit = *request_.memory_limit;
    std::int64_t least = light.least_bytes;
    if (least > limit) {
      solution_.status = SolveStatus::kInfeasible;
      solution_.stopped_by = StopReason::kFinished;
    } else if (num_entries(model, all_choices(model)) <= kMostEntries && !budget_.interrupted()) {
      SHARDWRIGHT_RETURN_IF_ERROR(solve_all(model));
      if (solution_.status != SolveStatus::kInfeasible) return {};
      least = limit + 1;
      if (solution_.shortage) least = std::max(least, solution_.shortage->minimum_bytes);
    } else {
      return {};
    }
    solution_.shortage = MemoryShortage{limit, least, false, std::nullopt};
    if (light.plan) {
      solution_.shortage->enough_bytes = light.evaluation.peak_bytes;
      solution_.shortage->minimum_is_exact = light.evaluation.peak_bytes == least;
    }
    return {};
  }

  bool exceeds() const { return solution_.evaluation.peak_bytes > *request_.memory_limit; }

  // Judges a choice by variable, and makes it the plan.
  Status take(const AtenModel& model, const SievedSolution& solved) {
    solution_.counters = count(model);
    solution_.status = solved.status;
    solution_.lower_bound_us = solved.lower_bound;
    solution_.stopped_by = solved.stopped_by;
    solution_.counters.kept = solved.kept;
    solution_.plan.reset();
    solution_.evaluation = {};
    if (solved.choice.empty()) return {};
    solution_.plan = plan_of(model, solved.choice, transitions_);
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
  CountedMoves moves_;
  KeptChoices kept_;                     // that searches within the limit looked at
  std::optional<AtenSolution> fitting_;  // the best plan within the limit
  AtenSolution solution_;
};

}  // namespace

Result<AtenSolution> solve_plan(const AtenGraph& graph, const AtenRequest& request,
                                TransitionCosts& transitions, Executor& executor, Budget& budget,
                                const ProblemSolveOptions& options) {
  return PlanSolver(graph, request, transitions, executor, budget, options).run();
}

}  // namespace shardwright::operators
