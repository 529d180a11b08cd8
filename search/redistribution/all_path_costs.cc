#include "search/redistribution/all_path_costs.h"

#include <array>
#include <functional>
#include <queue>
#include <utility>

#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {
namespace {

MoveRules without_groups() {
  MoveRules rules;
  rules.groups = false;
  return rules;
}

}  // namespace

AllPathCosts::AllPathCosts(TensorOnMesh tensor, std::shared_ptr<const StepCosts> costs)
    : tensor_(std::move(tensor)),
      costs_(std::move(costs)),
      rules_(without_groups()),
      visitor_(tensor_, rules_, Placement()) {}

std::uint32_t AllPathCosts::state_of(const Placement& placement) {
  const auto [at, is_new] =
      numbers_.emplace(placement.code(), static_cast<std::uint32_t>(states_.size()));
  if (is_new) states_.push_back({placement, {}, false});
  return at->second;
}

bool AllPathCosts::is_cut_well(const Placement& placement) const {
  std::array<std::int64_t, kMaxDims> parts{};
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    if (!placement.is_shard(axis)) continue;
    std::int64_t& cut = parts[placement.dim(axis)];
    cut = (cut == 0 ? 1 : cut) * tensor_.mesh[axis];
    if (cut > tensor_.shape[placement.dim(axis)]) return false;
  }
  return true;
}

const std::vector<AllPathCosts::Arc>& AllPathCosts::arcs_of(std::uint32_t state) {
  if (states_[state].is_expanded) return states_[state].arcs;
  std::vector<Arc> arcs;
  visitor_.visit(states_[state].placement, [&](const Move& move, const Placement& next,
                                               std::int64_t held_after) {
    if (!is_cut_well(next)) return;
    const double cost = costs_->cost({move, visitor_.held(), held_after, visitor_.parts()});
    if (cost < kNoPath) arcs.push_back({state_of(next), cost});
  });
  states_[state].arcs = std::move(arcs);
  states_[state].is_expanded = true;
  return states_[state].arcs;
}

const std::vector<double>& AllPathCosts::row_of(std::uint32_t source) {
  std::vector<double>& row = rows_[source];
  if (!row.empty()) return row;
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  row.assign(states_.size(), kNoPath);
  row[source] = 0;
  open.push({0, source});
  while (!open.empty()) {
    const auto [cost, state] = open.top();
    open.pop();
    if (cost > row[state]) continue;
    for (const Arc& arc : arcs_of(state)) {
      if (arc.to >= row.size()) row.resize(states_.size(), kNoPath);
      if (cost + arc.cost >= row[arc.to]) continue;
      row[arc.to] = cost + arc.cost;
      open.push({row[arc.to], arc.to});
    }
  }
  return row;
}

std::vector<double> AllPathCosts::table(std::span<const Placement> sources,
                                        std::span<const Placement> targets) {
  std::vector<std::uint32_t> columns;
  for (const Placement& target : targets)
    columns.push_back(state_of(effective_placement(tensor_.mesh, target)));
  std::vector<double> costs;
  costs.reserve(sources.size() * targets.size());
  for (const Placement& source : sources) {
    const std::vector<double>& row = row_of(state_of(effective_placement(tensor_.mesh, source)));
    for (const std::uint32_t column : columns)
      costs.push_back(column < row.size() ? row[column] : kNoPath);
  }
  return costs;
}

}  // namespace shardwright::redistribution
