#include "search/operators/aten/solve_plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/aten/evaluate_plan.h"
#include "search/operators/aten/aten_variables.h"
#include "search/operators/aten/contracted_model.h"
#include "search/operators/aten/lightest_search.h"
#include "search/operators/aten/limited_search.h"
#include "search/operators/aten/pruned_search.h"

namespace shardwright::operators {
namespace {

// The tensors that get movers: the few that move where memory is short. Bytes of other tensors in
// motion are not counted, so the memory of a plan is never overestimated. Thread safety: a value.
class CountedMoves {
 public:
  explicit CountedMoves(std::int64_t optimizer_states) : optimizer_states_(optimizer_states) {}

  // The tensors that have movers, ascending.
  std::span<const TakenTensor> tensors() const { return tensors_; }

  // Adds the tensors that move where the plan holds more than `limit`. Also adds the same inputs of
  // all consumers of the same classes, since other blocks will be short of memory, too. Returns
  // true if tensors were added.
  bool add(const AtenVariables& variables, const AtenPlan& plan, std::int64_t limit) {
    const AtenGraph& graph = variables.graph();
    std::set<std::pair<std::uint32_t, std::uint32_t>> kinds;  // class and input
    for (const TakenTensor& taken : uncounted(graph, plan, limit))
      kinds.emplace(variables.class_of(taken.consumer), taken.input);
    std::vector<TakenTensor> with;
    for (std::uint32_t c = 0; c < variables.num_consumers(); ++c) {
      const std::size_t inputs = c < graph.size() ? graph[c].inputs.size() : 1;
      for (std::uint32_t i = 0; i < inputs; ++i) {
        if (is_counted({c, i}) || kinds.contains({variables.class_of(c), i}))
          with.push_back({c, i});
      }
    }
    const bool is_new = with.size() > tensors_.size();
    tensors_ = std::move(with);
    return is_new;
  }

 private:
  // Returns the tensors without movers that move where the plan exceeds the limit.
  std::vector<TakenTensor> uncounted(const AtenGraph& graph, const AtenPlan& plan,
                                     std::int64_t limit) const {
    // By moment: the number of earlier moments at which the plan exceeds the limit.
    std::vector<std::uint32_t> exceeding{0};
    for (const AtenMemory& each : memory_by_moment(graph, plan, optimizer_states_))
      exceeding.push_back(exceeding.back() + (each.total() > limit ? 1 : 0));
    std::vector<TakenTensor> found;
    for (const HeldTensor& held : held_tensors(graph, optimizer_states_)) {
      if (!held.is_taken() || exceeding[held.live.end] == exceeding[held.live.begin]) continue;
      if (!is_counted(held.taken()) && held_bytes(graph, plan, held) > 0)
        found.push_back(held.taken());
    }
    return found;
  }

  bool is_counted(const TakenTensor& taken) const {
    return std::binary_search(tensors_.begin(), tensors_.end(), taken);
  }

  std::int64_t optimizer_states_;
  std::vector<TakenTensor> tensors_;
};

struct LightestPlan {
  // Empty if none was found. The evaluation has no violations and counts all tensors' memory.
  std::optional<AtenPlan> plan;
  AtenEvaluation evaluation;
  std::vector<std::uint32_t> choice;  // by node and output of the graph
  std::int64_t least_bytes = 0;       // proved: no plan has a lower peak
};

// Limit of the contracted models. Each counts memory at one time point more than the one before.
constexpr std::size_t kMostContractions = 4;

// Limit of the searches. Each search adds movers for the tensors that the previous plan moved at
// its peak. A light plan moves nearly all tensors, so the second search mostly has all movers.
constexpr int kMostSearches = 4;

// No further movers are added once the transfers have more entries than this (a gigabyte).
constexpr std::size_t kMostTransitions = 20'000'000;

std::size_t num_transitions(const AtenModel& model) {
  std::size_t sum = 0;
  for (const AtenTransfer& transfer : model.transfers.transfers)
    sum += transfer.costs.size();
  return sum;
}

// Searches a plan of the lowest peak. `cheapest` is any plan of the graph. The result does not
// depend on the request's limit, so a request with `evaluation.peak_bytes` as its limit finds the
// same plan. Precondition: the request has a limit. Errors: those of build_model().
Result<LightestPlan> lightest_plan(const AtenGraph& graph, const AtenRequest& request,
                                   TransitionCosts& transitions, const SievedSolution& cheapest,
                                   Executor& executor, Budget& budget,
                                   const ProblemSolveOptions& options) {
  LightestPlan best;
  CountedMoves moves(request.optimizer_states);
  for (int i = 0; i < kMostSearches && !budget.interrupted(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const AtenModel model, build_model(graph, request, transitions, executor, moves.tensors()));
    best.least_bytes = std::max(best.least_bytes, least_peak(model.usages));
    if (i > 0 && num_transitions(model) > kMostTransitions) break;
    std::vector<std::uint32_t> known = cheapest.choice;
    known.resize(model.variables.num_consumers());
    choose_movers(model.variables, transitions, known);
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        LightestSolution found,
        lightest_search(model, known, cheapest.objective, executor, budget, options));
    if (found.choice.empty()) break;
    AtenPlan plan = plan_of(model, found.choice, transitions);
    AtenEvaluation evaluation =
        evaluate(graph, plan, {request.device, transitions, request.optimizer_states});
    const bool is_counted = !moves.add(model.variables, plan, found.peak);
    if (evaluation.violations.empty() &&
        (!best.plan || evaluation.peak_bytes < best.evaluation.peak_bytes)) {
      found.choice.resize(model.variables.num_consumers());
      best.choice = std::move(found.choice);
      best.plan = std::move(plan);
      best.evaluation = std::move(evaluation);
    }
    if (is_counted || i + 1 == kMostSearches) {
      best.least_bytes = std::max(best.least_bytes, least_bytes(model, found.fullest, budget));
      break;
    }
  }
  return best;
}

// Relative difference between solver and verifier, which add costs in different orders.
constexpr double kRounding = 1e-9;

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

// One call of solve_plan(): solves the request and verifies the plan.
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
    // For a plan that a search within the limit starts from, equal blocks are good enough.
    bool is_quick = request_.memory_limit.has_value() && options_.gap > 0;
    std::optional<ChoicePruning> pruning(
        is_quick ? ChoicePruning::of_blocks(contracted->model(), PruningParameters())
                 : ChoicePruning(contracted->model(), PruningParameters()));
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
          sieved_search(contracted->model(), *pruning, executor_, budget_, options, goal));
      if (!found.choice.empty()) found.choice = contracted->expand(std::move(found.choice));
      if (is_quick) {  // the bound is that of equal blocks
        found.status = found.choice.empty() ? SolveStatus::kUnknown : SolveStatus::kFeasible;
        found.lower_bound = 0;
      }
      return found;
    };
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        SievedSolution cheapest,
        search(request_.memory_limit ? SieveGoal::kAnyPlan : SieveGoal::kOptimum));
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, cheapest));
    if (!request_.memory_limit || (!solution_.plan && !is_quick)) return std::move(solution_);
    if (!exceeds() && !is_proved()) {
      if (std::exchange(is_quick, false))
        pruning.emplace(contracted->model(), PruningParameters());
      SHARDWRIGHT_ASSIGN_OR_RETURN(cheapest, search(SieveGoal::kOptimum));
      SHARDWRIGHT_RETURN_IF_ERROR(take(model, cheapest));
    }
    if (!exceeds()) return std::move(solution_);
    solution_.without_limit_us = solution_.evaluation.total_us();
    pruning.reset();  // it takes as much memory as the model
    contracted.reset();
    return within_limit(std::move(model), cheapest);
  }

 private:
  // Repeats the search within the limit. If a plan exceeds the limit because of tensors in motion
  // without movers, these tensors get movers and the search begins again. If a search finds no
  // plan, the next one starts from the lightest plan. If that plan does not fit, seek_any()
  // searches any plan within the limit with more and more work, or proves that there is none.
  Result<AtenSolution> within_limit(AtenModel model, SievedSolution cheapest) {
    std::optional<AtenPlan> heavy = solution_.plan;
    bool is_searched = false;
    bool is_any_sought = false;
    std::optional<LightestPlan> light;
    if (options_.gap > 0) {
      SHARDWRIGHT_RETURN_IF_ERROR(solve_contracted(model, cheapest));
      if (fitting_ && is_proved()) return best_of_all(light);
    }
    do {
      if (heavy && moves_.add(model.variables, *heavy, *request_.memory_limit)) {
        SHARDWRIGHT_ASSIGN_OR_RETURN(
            model, build_model(graph_, request_, transitions_, executor_, moves_.tensors()));
      } else if (heavy && is_searched) {
        return disagreement("the plan holds more than " + std::to_string(*request_.memory_limit) +
                            " bytes");
      }
      least_bytes_ = std::max(least_bytes_, least_peak(model.usages));
      SHARDWRIGHT_RETURN_IF_ERROR(is_any_sought ? seek_any(model, cheapest)
                                                : solve_within_limit(model, cheapest));
      is_searched = true;
      heavy.reset();
      if (solution_.plan && exceeds()) {
        heavy = solution_.plan;
      } else if (is_any_sought) {
        if (solution_.status == SolveStatus::kInfeasible) break;
        is_any_sought = !solution_.plan;  // another search starts from this plan
      } else if (solution_.plan || fitting_ || is_over()) {
        break;
      } else {
        SHARDWRIGHT_ASSIGN_OR_RETURN(light, lightest_plan(graph_, request_, transitions_, cheapest,
                                                          executor_, budget_, options_));
        least_bytes_ = std::max(least_bytes_, light->least_bytes);
        if (light->least_bytes > *request_.memory_limit) {
          solution_.status = SolveStatus::kInfeasible;
          solution_.stopped_by = StopReason::kFinished;
          break;
        }
        is_any_sought = !offer(*light);
      }
    } while (!is_over());
    return best_of_all(light);
  }

  // Returns the last solution, or the best plan that fits if the last one does not fit or is worse.
  // The lower bound is the last one. `light` is set if a search found no plan.
  AtenSolution best_of_all(const std::optional<LightestPlan>& light) {
    const bool fits = solution_.plan && !exceeds();
    const bool is_worse = fitting_ && (!fits || fitting_->solution.evaluation.total_us() <
                                                    solution_.evaluation.total_us());
    if (is_worse) {
      AtenSolution& best = fitting_->solution;
      best.lower_bound_us = std::max(
          best.lower_bound_us, std::min(solution_.lower_bound_us, best.evaluation.total_us()));
      best.stopped_by = solution_.stopped_by;
      return std::move(best);
    }
    if (fits) return std::move(solution_);
    if (solution_.plan) {
      solution_.plan.reset();
      solution_.evaluation = {};
      solution_.status = SolveStatus::kUnknown;
    }
    explain(light);
    return std::move(solution_);
  }

  // Solves the contracted model, in which memory counts only at the time points where plans were
  // found to exceed the limit. Its bound holds for all plans, and its plan mostly fits. So a plan
  // within the gap is found in a fraction of the time.
  Status solve_contracted(const AtenModel& model, SievedSolution& cheapest) {
    std::vector<std::size_t> times;
    std::vector<std::uint32_t> heavy = cheapest.choice;
    while (times.size() < kMostContractions && !is_over()) {
      const std::size_t time = fullest_time(model.usages, heavy);
      if (std::find(times.begin(), times.end(), time) != times.end()) break;
      times.push_back(time);
      const ContractedModel contracted(model, executor_, times);
      SievedSolution start = cheapest;
      start.choice = contracted.contract(std::move(start.choice));
      KeptChoices kept;
      LimitedContext context;
      context.kept = &kept;
      bool fits = false;
      context.accepts = [&](SievedSolution found) {
        heavy = contracted.expand(std::move(found.choice));
        found.choice = heavy;
        fits = take(model, found).ok() && keep_if_fitting(heavy);
        return fits;
      };
      SHARDWRIGHT_ASSIGN_OR_RETURN(
          std::optional<SievedSolution> limited,
          limited_search(contracted.model(), start, *request_.memory_limit, context, executor_,
                         budget_, options_));
      if (!limited) break;
      cheapest.lower_bound = std::max(cheapest.lower_bound, limited->lower_bound);
      limited->choice = contracted.expand(std::move(limited->choice));
      SHARDWRIGHT_RETURN_IF_ERROR(take(model, *limited));
      if (fits) break;
    }
    return {};
  }

  Status solve_within_limit(const AtenModel& model, const SievedSolution& cheapest) {
    if (least_peak(model.usages) <= *request_.memory_limit) {
      SievedSolution start = cheapest;
      choose_movers(model.variables, transitions_, start.choice);
      SievedSolution known;
      LimitedContext context;
      context.kept = &kept_;
      if (fitting_) {
        known.choice = fitting_->choice;
        choose_movers(model.variables, transitions_, known.choice);
        known.objective = cost_of(model, known.choice);
        context.known = &known;
      }
      context.accepts = [&](const SievedSolution& found) {
        return take(model, found).ok() && keep_if_fitting(found.choice);
      };
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<SievedSolution> limited,
                                   limited_search(model, start, *request_.memory_limit, context,
                                                  executor_, budget_, options_));
      if (limited) return take(model, *limited);
    }
    give_up(model);
    return {};
  }

  // Searches any plan within the limit, whatever it costs.
  Status seek_any(const AtenModel& model, const SievedSolution& cheapest) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const WithinSolution found,
        choice_within(model, *request_.memory_limit, effort_, executor_, budget_, options_));
    least_bytes_ = std::max(least_bytes_, found.least_bytes);
    if (found.choice.empty()) {
      give_up(model);
      if (found.is_impossible) {
        solution_.status = SolveStatus::kInfeasible;
        solution_.stopped_by = StopReason::kFinished;
      }
      effort_ = effort_.more();
      return {};
    }
    SievedSolution any;
    any.status = SolveStatus::kFeasible;
    any.choice = found.choice;
    any.objective = cost_of(model, any.choice);
    any.lower_bound = cheapest.lower_bound;
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, any));
    if (keep_if_fitting(any.choice)) keep_choice(any.choice);
    return {};
  }

  void give_up(const AtenModel& model) {
    solution_.counters = count(model);
    solution_.status = SolveStatus::kUnknown;
    solution_.plan.reset();
    solution_.stopped_by = budget_.interrupted().value_or(StopReason::kWorkLimit);
  }

  // Keeps the solution if it fits and is the best so far. `choice`: its choice by variable.
  bool keep_if_fitting(std::vector<std::uint32_t> choice) {
    if (exceeds()) return false;
    if (!is_proved()) solution_.status = SolveStatus::kFeasible;
    if (!fitting_ || solution_.evaluation.total_us() < fitting_->solution.evaluation.total_us()) {
      choice.resize(graph_.size() + graph_.outputs().size());
      fitting_ = Fitting{solution_, std::move(choice)};
    }
    return true;
  }

  // Makes the lightest plan the start of the next search. Returns false if the plan does not fit.
  bool offer(const LightestPlan& light) {
    if (!light.plan || light.evaluation.peak_bytes > *request_.memory_limit) return false;
    fitting_ = Fitting{solution_, light.choice};
    fitting_->solution.status = SolveStatus::kFeasible;
    fitting_->solution.plan = light.plan;
    fitting_->solution.evaluation = light.evaluation;
    keep_choice(light.choice);
    return true;
  }

  // Adds the choice to the choices that searches within the limit keep.
  void keep_choice(const std::vector<std::uint32_t>& choice) {
    KeptChoices chosen;
    for (std::size_t v = 0; v < graph_.size() + graph_.outputs().size(); ++v)
      chosen.push_back({choice[v]});
    kept_.resize(chosen.size());
    add_choices(chosen, kept_);
  }

  // Sets the shortage: the least bytes of all plans, and the peak of the lightest known plan.
  void explain(const std::optional<LightestPlan>& light) {
    MemoryShortage shortage{*request_.memory_limit, least_bytes_, false, std::nullopt};
    if (light && light->plan) {
      shortage.enough_bytes = light->evaluation.peak_bytes;
      shortage.minimum_is_exact = light->evaluation.peak_bytes == least_bytes_;
    }
    solution_.shortage = shortage;
  }

  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }
  bool is_proved() const {
    return solution_.status == SolveStatus::kOptimal || solution_.status == SolveStatus::kWithinGap;
  }
  bool exceeds() const { return solution_.evaluation.peak_bytes > *request_.memory_limit; }

  // Makes a choice by variable the plan of the solution, and verifies the plan.
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

  const AtenGraph& graph_;
  const AtenRequest& request_;
  TransitionCosts& transitions_;
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  // A plan within the limit.
  struct Fitting {
    AtenSolution solution;
    std::vector<std::uint32_t> choice;  // by node and output of the graph
  };

  CountedMoves moves_;
  KeptChoices kept_;                // choices that searches within the limit keep
  std::optional<Fitting> fitting_;  // the best plan that fits
  Effort effort_;                   // of the next seek_any()
  std::int64_t least_bytes_ = 0;    // proved: no plan has a lower peak
  AtenSolution solution_;
};

}  // namespace

Result<AtenSolution> solve_plan(const AtenGraph& graph, const AtenRequest& request,
                                TransitionCosts& transitions, Executor& executor, Budget& budget,
                                const ProblemSolveOptions& options) {
  return PlanSolver(graph, request, transitions, executor, budget, options).run();
}

}  // namespace shardwright::operators
