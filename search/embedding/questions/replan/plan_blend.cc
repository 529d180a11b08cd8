#include "search/embedding/questions/replan/plan_blend.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/units.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::Evaluation;
using embedding::Plan;
using embedding::PlanLoads;

constexpr double kEqual = 1e-9;  // relative
// Updates of shards and ranks that a walk of all steps may take.
constexpr std::size_t kMostUpdates = 30'000'000;

bool same(const Assignment& a, const Assignment& b) {
  if (a.option != b.option) return false;
  for (std::uint32_t shard = 0; shard < a.option->num_shards(); ++shard) {
    if (a.rank(shard) != b.rank(shard)) return false;
  }
  return true;
}

}  // namespace

Assignments to_assignments(const Plan& plan) {
  Assignments out;
  out.reserve(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i)
    out.push_back(plan[i]);
  return out;
}

void PlanBlend::keep_alive(std::shared_ptr<const void> owner) {
  using Owners = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  owner_ = std::make_shared<const Owners>(std::move(owner), std::move(owner_));
}

std::int64_t PlanBlend::moved_bytes(const Assignment& to) const {
  return old_->place(to.option->table) == nullptr ? 0 : old_->bytes_to_move(to);
}

double PlanBlend::cost_of(double rating, std::int64_t moved, double weight) {
  return rating + weight * (static_cast<double>(moved) / static_cast<double>(kGibibyte));
}

bool PlanBlend::is_better(double cost, std::int64_t moved) const {
  if (!best_) return true;
  const double margin = kEqual * std::abs(best_->cost);
  if (cost < best_->cost - margin) return true;
  return cost <= best_->cost + margin && moved < best_->moved_bytes;
}

void PlanBlend::consider(const Assignments& assignments) { take(assignments, true); }

void PlanBlend::settle(const Assignments& assignments) { take(assignments, false); }

void PlanBlend::take(const Assignments& assignments, bool only_better) {
  std::int64_t moved = 0;
  for (const Assignment& assignment : assignments)
    moved += moved_bytes(assignment);
  const Plan plan =
      Plan::generate(owner_, assignments.size(), [&](std::size_t i) { return assignments[i]; });
  Evaluation evaluation = embedding::evaluate(*problem_, *available_, plan);
  const double cost = cost_of(evaluation.rating, moved, weight_);
  if (!evaluation.valid() || (only_better && !is_better(cost, moved))) return;
  best_ = Blended{plan, std::move(evaluation), cost, moved};
}

std::vector<PlanBlend::Unit> PlanBlend::units_between(const Assignments& from,
                                                      const Assignments& to) const {
  std::vector<std::size_t> position(problem_->tables().size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    position[from[i].option->table.index()] = i;
  // Every position points to one of its unit, itself at the end of the chain.
  std::vector<std::size_t> leader(from.size() + 1);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (leader[i] != i)
      i = leader[i] = leader[leader[i]];
    return i;
  };
  for (const embedding::PlacementRules::Group& group : problem_->rules().groups()) {
    if (!group.together) continue;
    for (const embedding::TableId table : group.tables)
      leader[find(position[table.index()])] = find(position[group.tables.front().index()]);
  }
  std::vector<Unit> by_leader(from.size() + 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!same(from[i], to[i])) by_leader[find(i)].push_back(i);
  }
  std::erase_if(by_leader, [](const Unit& unit) { return unit.empty(); });
  return by_leader;
}

bool PlanBlend::precedes(const Badness& a, const Badness& b) {
  if (a.excess_bytes != b.excess_bytes) return a.excess_bytes < b.excess_bytes;
  const double margin = kEqual * std::abs(b.cost);
  if (a.cost < b.cost - margin) return true;
  return a.cost <= b.cost + margin && a.moved_bytes < b.moved_bytes;
}

PlanBlend::Badness PlanBlend::badness(const State& state) const {
  return {state.loads.excess_bytes(), cost_of(state.loads.rating(), state.moved, state.weight),
          state.moved};
}

Assignments PlanBlend::change(State& state, const Unit& unit, const Assignments& to) {
  Assignments before;
  for (const std::size_t i : unit) {
    state.loads.remove(state.at[i]);
    before.push_back(std::exchange(state.at[i], to[i]));
    state.loads.add(to[i]);
    state.moved += state.moved_after[i] - state.moved_before[i];
  }
  return before;
}

void PlanBlend::change_back(State& state, const Unit& unit, Assignments before) {
  for (std::size_t k = 0; k < unit.size(); ++k) {
    const std::size_t i = unit[k];
    state.loads.remove(state.at[i]);
    state.at[i] = std::move(before[k]);
    state.loads.add(state.at[i]);
    state.moved += state.moved_before[i] - state.moved_after[i];
  }
}

void PlanBlend::consider_state(const State& state) {
  if (state.loads.excess_bytes() != 0) return;
  if (is_better(cost_of(state.loads.rating(), state.moved, weight_), state.moved))
    consider(state.at);
}

void PlanBlend::walk(Assignments from, const Assignments& to) {
  std::vector<Unit> units = units_between(from, to);
  State state{std::move(from), PlanLoads(*problem_, *available_), {}, {}, 0, weight_};
  for (std::size_t i = 0; i < to.size(); ++i) {
    state.loads.add(state.at[i]);
    state.moved_before.push_back(moved_bytes(state.at[i]));
    state.moved_after.push_back(same(state.at[i], to[i]) ? state.moved_before[i]
                                                         : moved_bytes(to[i]));
    state.moved += state.moved_before[i];
  }
  std::size_t updates = units.size() * available_->world_size();
  for (const Unit& unit : units) {
    for (const std::size_t i : unit)
      updates += state.at[i].option->num_shards() + to[i].option->num_shards();
  }
  if (units.size() * updates <= kMostUpdates) {
    walk_by_steps(state, std::move(units), to);
  } else {
    walk_once(state, units, to);
  }
}

void PlanBlend::walk_by_steps(State& state, std::vector<Unit> units, const Assignments& to) {
  while (!units.empty()) {
    std::size_t best = 0;
    Badness least;
    for (std::size_t i = 0; i < units.size(); ++i) {
      Assignments before = change(state, units[i], to);
      const Badness now = badness(state);
      change_back(state, units[i], std::move(before));
      if (i > 0 && !precedes(now, least)) continue;
      least = now;
      best = i;
    }
    change(state, units[best], to);
    units.erase(units.begin() + static_cast<std::ptrdiff_t>(best));
    consider_state(state);
  }
}

void PlanBlend::walk_once(State& state, const std::vector<Unit>& units, const Assignments& to) {
  Badness least = badness(state);
  for (const Unit& unit : units) {
    Assignments before = change(state, unit, to);
    const Badness now = badness(state);
    if (precedes(now, least)) {
      least = now;
    } else {
      change_back(state, unit, std::move(before));
    }
  }
  consider_state(state);
}

}  // namespace shardwright
