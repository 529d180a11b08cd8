// Recomputes every claim of a plan.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/experts/bound.h"
#include "core/experts/link_cost.h"
#include "core/experts/pair_bound.h"

namespace shardwright::experts {
namespace {

// Sums over layers differ by the rounding of each layer.
constexpr double kTolerance = 100 * kRounding;

bool equal(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

Error refuted(std::string where, std::string message) {
  return Error{ErrorCode::kVerificationFailed, std::move(message), std::move(where)};
}

Status check_values(const std::vector<double>& said, const std::vector<double>& is,
                    const std::string& where) {
  if (said.size() != is.size())
    return refuted(where,
                   "must have a number for each of " + std::to_string(is.size()) + " layers");
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (!equal(said[i], is[i])) {
      return refuted(
          where + "/" + std::to_string(i),
          "is " + std::to_string(said[i]) + "; the placement gives " + std::to_string(is[i]));
    }
  }
  return {};
}

// Returns true if the rule is the simple one that proves most and proves `value`, or if it proves
// more than simple ones. `busiest`: time of the placement.
bool proves(const ExpertProblem& problem, std::size_t layer, LayerBound said, double busiest,
            Over over, std::size_t worst) {
  // A search that was stopped may have left groups out.
  const auto is_stopped = [] { return true; };
  const LayerBound best = windows_bound(problem, layer, over, worst);
  for (const LayerBound& simple : {best, windows_bound(problem, layer, over, worst, is_stopped)}) {
    if (simple.rule == said.rule && equal(said.value, std::min(simple.value, busiest))) return true;
  }
  if (said.value <= best.value || problem.num_samples() > 1) return false;
  if (said.rule == BoundRule::kPairs) {
    if (problem.slots_per_gpu() != 2 || !problem.spec().gpu_speeds.empty()) return false;
    const Pool pool = layer_pool(problem, 0, layer);
    return counts_refute(pool, said.value, kMostCounts) ||
           pairs_refute(pool, said.value, kMostPairIterations);
  }
  std::uint64_t work = 2 * kTrialWork;
  return said.rule == BoundRule::kTried && said.value <= busiest * (1 + kTolerance) &&
         problem.num_slots() <= kMostTriedSlots && lists_groups(problem) &&
         place_layer_below(problem, 0, layer, said.value * (1 - kTolerance), work).end ==
             Trial::End::kNone;
}

Status check_bounds(const ExpertProblem& all, const ExpertPlan& plan, const PlanTerms& terms,
                    std::size_t worst) {
  if (plan.lower_bound.size() != all.num_layers() || plan.rules.size() != all.num_layers())
    return refuted("/lower_bound", "must have a number and a rule per layer");
  for (std::size_t layer = 0; layer < all.num_layers(); ++layer) {
    const ExpertProblem problem =
        layer_problem(all, terms, layer, plan.placement.data() + layer * all.num_slots());
    const LayerBound said{plan.lower_bound[layer], plan.rules[layer]};
    if (proves(problem, layer, said, plan.max_load[layer], terms.over, worst)) continue;
    return refuted("/lower_bound/" + std::to_string(layer),
                   "the rule \"" +
                       std::string(kBoundRuleNames[static_cast<std::size_t>(said.rule)]) +
                       "\" does not prove " + std::to_string(said.value));
  }
  return {};
}

}  // namespace

ExpertProblem layer_problem(const ExpertProblem& problem, const PlanTerms& terms, std::size_t layer,
                            const Expert* slots) {
  if (!has_repeats(problem, slots)) return problem;
  for (const Placement* other : {&terms.old, &terms.eplb}) {
    if (!other->empty() && has_repeats(problem, other->data() + layer * problem.num_slots()))
      return problem.with_repeats();
  }
  return problem;
}

Status check_plan(const ExpertProblem& problem, const ExpertPlan& plan, const PlanTerms& terms) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_slots(problem, plan.placement, ErrorCode::kVerificationFailed));
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    const Expert* slots = plan.placement.data() + layer * problem.num_slots();
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_layer(layer_problem(problem, terms, layer, slots), layer, slots));
  }
  const std::vector<double> busiest = busiest_times(problem, plan.placement);
  const std::size_t worst = worst_window(problem, busiest);
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_values(plan.max_load, over_windows(problem, busiest, terms.over, worst), "/max_load"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_values(
      plan.mean_load, over_windows(problem, mean_times(problem), terms.over, worst), "/mean_load"));
  const std::size_t moved = terms.old.empty() ? 0 : count_moves(problem, plan.placement, terms.old);
  if (plan.moved != moved) return refuted("/moved", "is " + std::to_string(moved));
  double objective = terms.migration_weight * static_cast<double>(moved);
  for (const double load : plan.max_load)
    objective += load;
  if (!equal(plan.objective, objective))
    return refuted("/objective", "is " + std::to_string(objective));
  const double cost = link_cost(problem, plan.placement);
  if (!equal(plan.link_cost, cost)) return refuted("/link_cost", "is " + std::to_string(cost));
  SHARDWRIGHT_RETURN_IF_ERROR(check_bounds(problem, plan, terms, worst));
  bool may_be_proven = terms.migration_weight == 0 || moved == 0;
  bool is_proven = may_be_proven;
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    const double bound = plan.lower_bound[layer];
    may_be_proven = may_be_proven && plan.max_load[layer] <= bound * (1 + kTolerance);
    is_proven = is_proven && plan.max_load[layer] <= bound * (1 + kRounding);
  }
  if (plan.proven_optimal ? !may_be_proven : is_proven)
    return refuted("/proven_optimal", "does not follow from the bounds, the loads and the moves");
  return {};
}

}  // namespace shardwright::experts
