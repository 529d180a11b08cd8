#include "search/operators/aten/lightest_plan.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/counted_moves.h"
#include "search/operators/aten/sieve/lightest_search.h"

namespace shardwright::operators {
namespace {

// Searches, each with movers for what the plan before moved where it held too much. A light plan
// moves nearly everything, so a second search mostly knows what matters.
constexpr int kMostSearches = 4;

// Movers of further tensors are left out if ways between placements become so many: a gigabyte.
constexpr std::size_t kMostTransitions = 20'000'000;

std::size_t num_transitions(const AtenModel& model) {
  std::size_t sum = 0;
  for (const AtenTransfer& transfer : model.transfers.transfers)
    sum += transfer.costs.size();
  return sum;
}

}  // namespace

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

}  // namespace shardwright::operators
