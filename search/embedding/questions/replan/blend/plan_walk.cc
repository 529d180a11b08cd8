#include "search/embedding/questions/replan/blend/plan_walk.h"

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "search/embedding/questions/replan/blend/plan_state.h"

namespace shardwright::embedding {
namespace {

// Updates of shards and ranks that a walk which tries all steps every time may make.
constexpr std::size_t kMostUpdates = 30'000'000;

// One step per table, or per set of tables that are kept together, in the order of the plan.
std::vector<PlanStep> steps_between(const Problem& problem, const PlanState& from, const Plan& to) {
  std::vector<std::size_t> position(problem.tables().size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    position[from[i].option->table.index()] = i;
  // A union-find forest. The last entry stands for tables that the plans lack.
  std::vector<std::size_t> leader(from.size() + 1);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (leader[i] != i)
      i = leader[i] = leader[leader[i]];
    return i;
  };
  for (const PlacementRules::Group& group : problem.rules().groups()) {
    if (!group.together) continue;
    for (const TableId table : group.tables)
      leader[find(position[table.index()])] = find(position[group.tables.front().index()]);
  }
  std::vector<PlanStep> by_leader(from.size() + 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_same(from[i], to[i])) by_leader[find(i)].push_back(from.change_to(i, to[i]));
  }
  std::erase_if(by_leader, [](const PlanStep& step) { return step.empty(); });
  return by_leader;
}

void walk_by_best_steps(PlanState& state, std::vector<PlanStep> steps, BlendIncumbent& incumbent,
                        const Budget& budget) {
  while (!steps.empty() && !budget.interrupted()) {
    std::size_t best = 0;
    PlanCost least;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const PlanCost now = state.cost_after(steps[i]);
      if (i > 0 && !precedes(now, least)) continue;
      least = now;
      best = i;
    }
    state.apply(steps[best]);
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(best));
    incumbent.consider(state);
  }
}

void walk_once(PlanState& state, const std::vector<PlanStep>& steps, BlendIncumbent& incumbent,
               const Budget& budget) {
  PlanCost least = state.cost();
  for (const PlanStep& step : steps) {
    if (budget.interrupted()) break;
    const PlanStep back = state.inverse(step);
    state.apply(step);
    const PlanCost now = state.cost();
    if (precedes(now, least)) {
      least = now;
    } else {
      state.apply(back);
    }
  }
  incumbent.consider(state);
}

}  // namespace

void walk(const Plan& from, const Plan& to, BlendIncumbent& incumbent, Budget& budget) {
  const PlanCosts& costs = incumbent.costs();
  PlanState state(from, costs);
  std::vector<PlanStep> steps = steps_between(costs.problem(), state, to);
  std::size_t updates = steps.size() * costs.available().world_size();
  for (const PlanStep& step : steps) {
    for (const TableChange& change : step)
      updates += state[change.position].option->num_shards() + change.to.option->num_shards();
  }
  if (steps.size() * updates <= kMostUpdates) {
    budget.spend(steps.size() * updates);
    walk_by_best_steps(state, std::move(steps), incumbent, budget);
  } else {
    budget.spend(updates);
    walk_once(state, steps, incumbent, budget);
  }
}

}  // namespace shardwright::embedding
