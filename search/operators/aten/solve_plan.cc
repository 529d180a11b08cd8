#include "search/operators/aten/solve_plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/aten/plan/plan_memory.h"
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

// Work to find out where moving tensors makes memory short, in strategy evaluations: a plan, not a
// proof. Half as much finds worse plans, which move other tensors; twice as much costs time where
// the proof follows anyway.
constexpr std::uint64_t kWorkOfMovers = 100'000'000;

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
    SHARDWRIGHT_ASSIGN_OR_RETURN(AtenModel model,
                                 build_model(graph_, request_, transitions_, executor_));
    if (request_.memory_limit) {
      const std::int64_t least = least_peak(model.usages);
      if (least > *request_.memory_limit) {
        solution_.counters = count(model);
        solution_.status = SolveStatus::kInfeasible;
        solution_.shortage = MemoryShortage{*request_.memory_limit, least, false};
        return std::move(solution_);
      }
    }
    ChoiceSieve sieve(model, {});
    SHARDWRIGHT_ASSIGN_OR_RETURN(const SievedSolution cheapest,
                                 sieved_search(model, sieve, executor_, budget_, options_));
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, cheapest));
    if (!request_.memory_limit || !solution_.plan || !exceeds()) return std::move(solution_);
    solution_.without_limit_us = solution_.evaluation.total_us();
    return within_limit(std::move(model), cheapest);
  }

 private:
  // Few of the tensors that move do so where memory is short, so the others have no movers, and
  // what they hold does not count: no plan looks dearer than it is. Little work finds out which
  // ones matter; then the problem with these is solved. What it gives is the best plan if that
  // holds no more than it may with all tensors.
  Result<AtenSolution> within_limit(AtenModel model, const SievedSolution& cheapest) {
    std::optional<AtenSolution> fitting;
    for (bool is_quick = true;;) {
      if (add_movers(model.variables)) {
        SHARDWRIGHT_ASSIGN_OR_RETURN(
            model, build_model(graph_, request_, transitions_, executor_, movers_));
      }
      SievedSolution known = cheapest;
      choose_movers(model.variables, known.choice);
      Budget little = budget_.with_work_left(kWorkOfMovers);
      Budget& budget = is_quick ? little : budget_;
      SHARDWRIGHT_RETURN_IF_ERROR(solve_within_limit(model, known, budget));
      const bool is_found = solution_.plan.has_value();
      if (!is_found && solution_.status == SolveStatus::kInfeasible) break;
      if (is_found && !exceeds()) {
        if (!fitting || solution_.evaluation.total_us() < fitting->evaluation.total_us())
          fitting = solution_;
        if (!is_quick || solution_.status == SolveStatus::kOptimal) break;
        is_quick = false;
      } else if (is_found && uncounted().empty()) {
        return disagreement("the plan holds " + std::to_string(solution_.evaluation.peak_bytes) +
                            " bytes");
      } else if (!is_found) {
        if (!is_quick) break;
        is_quick = false;
      }
      if (budget_.interrupted()) break;
    }
    return best_of(fitting);
  }

  // The last solution, or the best plan that fits, with the last bound.
  AtenSolution best_of(std::optional<AtenSolution>& fitting) {
    const bool fits = solution_.plan && !exceeds();
    const bool is_worse =
        fitting && (!fits || fitting->evaluation.total_us() < solution_.evaluation.total_us());
    if (!is_worse) {
      if (!fits && solution_.plan) {
        solution_.plan.reset();
        solution_.evaluation = {};
        solution_.status = SolveStatus::kUnknown;
      }
      return std::move(solution_);
    }
    fitting->lower_bound_us =
        std::max(fitting->lower_bound_us,
                 std::min(solution_.lower_bound_us, fitting->evaluation.total_us()));
    fitting->stopped_by = solution_.stopped_by;
    return *std::move(fitting);
  }

  Status solve_within_limit(const AtenModel& model, const SievedSolution& cheapest,
                            Budget& budget) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const std::optional<SievedSolution> limited,
        limited_search(model, cheapest, *request_.memory_limit, executor_, budget, options_));
    if (limited) return take(model, *limited);
    if (num_entries(model) <= kMostEntries && !budget.interrupted())
      return solve_all(model, budget);
    solution_.status = SolveStatus::kUnknown;
    solution_.plan.reset();
    solution_.stopped_by = budget.interrupted().value_or(StopReason::kWorkLimit);
    return {};
  }

  // The tensors without movers that move where the plan, if there is one, exceeds the limit.
  std::vector<TakenTensor> uncounted() const {
    if (!solution_.plan) return {};
    const std::vector<AtenMemory> memory =
        memory_by_moment(graph_, *solution_.plan, request_.optimizer_states);
    // By moment: how many of these and of the earlier ones exceed the limit.
    std::vector<std::uint32_t> exceeding{0};
    for (const AtenMemory& each : memory)
      exceeding.push_back(exceeding.back() + (each.total() > *request_.memory_limit ? 1 : 0));
    std::vector<TakenTensor> found;
    for (const HeldTensor& held : held_tensors(graph_, request_.optimizer_states)) {
      if (!held.is_taken() || exceeding[held.live.end] == exceeding[held.live.begin]) continue;
      if (std::binary_search(movers_.begin(), movers_.end(), held.taken())) continue;
      if (held_bytes(graph_, *solution_.plan, held) > 0) found.push_back(held.taken());
    }
    return found;
  }

  // Adds these tensors to those with movers, and the same inputs of all consumers of their classes:
  // what is short in one block will be so in others. Returns true if there are new ones.
  bool add_movers(const AtenVariables& variables) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> kinds;  // class and input
    for (const TakenTensor& taken : uncounted())
      kinds.emplace(variables.class_of(taken.consumer), taken.input);
    std::vector<TakenTensor> with;
    for (std::uint32_t c = 0; c < variables.num_consumers(); ++c) {
      for (const TakenTensor& taken : taken_by(c)) {
        if (std::binary_search(movers_.begin(), movers_.end(), taken) ||
            kinds.contains({variables.class_of(c), taken.input}))
          with.push_back(taken);
      }
    }
    const bool is_new = with.size() > movers_.size();
    movers_ = std::move(with);
    return is_new;
  }

  std::vector<TakenTensor> taken_by(std::uint32_t consumer) const {
    const std::size_t inputs = consumer < graph_.size() ? graph_[consumer].inputs.size() : 1;
    std::vector<TakenTensor> taken;
    for (std::uint32_t i = 0; i < inputs; ++i)
      taken.push_back({consumer, i});
    return taken;
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
    solution_.plan = plan_of(model.variables, solved.choice, transitions_);
    solution_.evaluation = evaluate(graph_, *solution_.plan,
                                    {request_.device, transitions_, request_.optimizer_states});
    return verify(solution_, solved.objective);
  }

  // Finds out whether any plan is within the limit.
  Status solve_all(const AtenModel& model, Budget& budget) {
    const KeptChoices kept = all_choices(model);
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem,
                                 lower(model, kept, request_.memory_limit));
    const ProblemSolution solved = solve_problem(problem, executor_, budget, options_);
    SievedSolution all;
    all.status = solved.status;
    all.objective = solved.objective;
    all.lower_bound = std::max(solution_.lower_bound_us, solved.lower_bound);
    all.stopped_by = solved.stopped_by;
    if (!solved.choice.empty()) all.choice = chosen(kept, solved.choice);
    SHARDWRIGHT_RETURN_IF_ERROR(take(model, all));
    solution_.shortage = solved.shortage;
    // Where this much is enough for what counts, moving tensors may need more.
    if (solution_.shortage) solution_.shortage->minimum_is_exact = false;
    return {};
  }

  const AtenGraph& graph_;
  const AtenRequest& request_;
  TransitionCosts& transitions_;
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  std::vector<TakenTensor> movers_;  // ascending
  AtenSolution solution_;
};

}  // namespace

Result<AtenSolution> solve_plan(const AtenGraph& graph, const AtenRequest& request,
                                TransitionCosts& transitions, Executor& executor, Budget& budget,
                                const ProblemSolveOptions& options) {
  return PlanSolver(graph, request, transitions, executor, budget, options).run();
}

}  // namespace shardwright::operators
