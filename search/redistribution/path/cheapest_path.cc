#include "search/redistribution/path/cheapest_path.h"

#include <algorithm>

#include "core/redistribution/placement/shard_boxes.h"
#include "search/redistribution/path/direct_path.h"
#include "search/redistribution/path/estimate/cost_estimate.h"
#include "search/redistribution/path/open_states.h"

namespace shardwright::redistribution {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// What was paid and what is left are summed in another order than a whole path.
constexpr double kAbove = 1 + 1e-12;

Path no_path() {
  Path path;
  path.found = false;
  path.cost = kInfinite;
  return path;
}

// Axes of one device do nothing. ColossalAI prices them all the same.
Placement start_of(const TensorOnMesh& tensor, const MoveRules& rules, const Placement& at) {
  return rules.colossal ? at : effective_placement(tensor.mesh, at);
}

class PathSearch {
 public:
  PathSearch(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
             const Placement* target, const PathLimits& limits, const std::stop_token& stop)
      : tensor_(tensor),
        costs_(costs),
        rules_(with_groups(rules, costs)),
        target_(target),
        limits_(limits),
        stop_(stop),
        visitor_(tensor, rules_, target == nullptr ? Placement() : *target),
        prices_permutes_(prices_permutes()) {}

  // Empty if the search was cut short.
  std::optional<Path> run(const Placement& source) {
    most_ = known_cost(source);
    if (target_ != nullptr)
      estimate_.emplace(tensor_, costs_, rules_.groups, source, *target_, most_);
    PathState first;
    first.at = source;
    first.peak = largest_box(tensor_.shape, tensor_.mesh, source);
    first.left = left(source);
    open_.keep(open_.slot_of(source, 0), first);
    std::int64_t expanded = 0;
    while (const std::optional<std::uint32_t> index = open_.next()) {
      if (is_goal(open_[*index].at)) return path_to(*index);
      if (++expanded > limits_.most_expanded || stop_.stop_requested()) return std::nullopt;
      expand(*index);
    }
    return no_path();
  }

 private:
  static MoveRules with_groups(MoveRules rules, const StepCosts& costs) {
    rules.groups = rules.groups && costs.knows_groups();
    return rules;
  }

  // What a path costs that is surely allowed; infinite if none is known.
  double known_cost(const Placement& source) const {
    if (target_ == nullptr || limits_.collectives) return kInfinite;
    const bool even = is_even(tensor_.shape, tensor_.mesh, source) &&
                      is_even(tensor_.shape, tensor_.mesh, *target_);
    if (!rules_.uneven && !even) return kInfinite;
    const Path direct = direct_path(tensor_, costs_, source, *target_);
    if (!direct.found || direct.peak_elements > limits_.elements) return kInfinite;
    return direct.cost * kAbove;
  }

  bool is_goal(const Placement& at) const {
    return target_ == nullptr ? !at.has_partial() : at == *target_;
  }

  double left(const Placement& at) { return estimate_ ? estimate_->left(at) : 0; }

  void expand(std::uint32_t index) {
    const PathState from = open_[index];
    const auto look_at = [&](const Move& move, const Placement& next, std::int64_t held_after) {
      const std::int64_t held = visitor_.held();
      if (held > limits_.elements - held_after) return;
      std::uint32_t collectives = 0;
      if (limits_.collectives) {
        collectives = from.collectives + (move.communicates() ? 1 : 0);
        if (collectives > *limits_.collectives) return;
      }
      const double cost = from.cost + costs_.cost({move, held, held_after, visitor_.parts()});
      if (!(cost <= most_) || cost == kInfinite) return;
      const std::int64_t peak = std::max(from.peak, held + held_after);
      const std::size_t slot = open_.slot_of(next, collectives);
      if (!open_.wants(slot, cost, peak, from.num_steps + 1)) return;
      const std::optional<double> known = open_.left(slot);
      const double rest = known ? *known : left(next);
      if (cost + rest > most_) return;
      open_.keep(slot, {next, cost, peak, from.num_steps + 1, collectives, index, rest});
    };
    visitor_.visit(from.at, look_at, prices_permutes_ && !was_permuted(from));
  }

  // Asks the model once: placements may have thousands of permutes.
  bool prices_permutes() const {
    Move move;
    move.kind = Move::Kind::kPermute;
    move.axes = {0, 1};
    return rules_.groups && tensor_.mesh.size() > 1 && costs_.cost({move, 1, 1, 1}) < kInfinite;
  }

  // Two permutes on end are one, along no other axes.
  bool was_permuted(const PathState& state) const {
    return state.num_steps > 0 &&
           is_permutation(tensor_.shape, tensor_.mesh, open_[state.parent].at, state.at);
  }

  Path path_to(std::uint32_t index) {
    Path path;
    path.cost = open_[index].cost;
    path.peak_elements = open_[index].peak;
    for (; open_[index].num_steps != 0; index = open_[index].parent)
      path.steps.push_back(cheapest_step(open_[open_[index].parent].at, open_[index].at));
    std::reverse(path.steps.begin(), path.steps.end());
    return path;
  }

  // States do not remember their moves: they are many, and few are on the path.
  PathStep cheapest_step(const Placement& from, const Placement& to) {
    PathStep step{{}, to, kInfinite};
    visitor_.visit(from, [&](const Move& move, const Placement& next, std::int64_t held_after) {
      if (next != to) return;
      const double cost = costs_.cost({move, visitor_.held(), held_after, visitor_.parts()});
      if (cost < step.cost) step = {move, to, cost};
    });
    return step;
  }

  const TensorOnMesh& tensor_;
  const StepCosts& costs_;
  MoveRules rules_;
  const Placement* target_;
  const PathLimits& limits_;
  const std::stop_token& stop_;
  double most_ = kInfinite;  // no path is wanted that costs more
  MoveVisitor visitor_;
  bool prices_permutes_;
  OpenStates open_;
  std::optional<CostEstimate> estimate_;  // none: the search is Dijkstra's algorithm
};

}  // namespace

Path find_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
               const Placement& full_source, const Placement& full_target, const PathLimits& limits,
               const std::stop_token& stop) {
  const Placement source = start_of(tensor, rules, full_source);
  const Placement target = start_of(tensor, rules, full_target);
  if (auto path = PathSearch(tensor, costs, rules, &target, limits, stop).run(source)) return *path;
  if (stop.stop_requested()) return no_path();
  Path path = direct_path(tensor, costs, source, target);
  const bool fits = path.found && path.peak_elements <= limits.elements &&
                    path.num_collectives() <= limits.collectives.value_or(kMaxMeshAxes * 2);
  return fits ? path : no_path();
}

Path find_reducing_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
                        const Placement& source) {
  MoveRules direct = rules;
  direct.detours = false;
  const PathLimits limits;
  const std::stop_token never;
  return PathSearch(tensor, costs, direct, nullptr, limits, never)
      .run(start_of(tensor, rules, source))
      .value_or(no_path());
}

std::vector<Path> pareto_paths(const TensorOnMesh& tensor, const StepCosts& costs,
                               const MoveRules& rules, const Placement& source,
                               const Placement& target, PathLimits limits,
                               const std::stop_token& stop) {
  std::vector<Path> paths;
  for (;;) {
    Path path = find_path(tensor, costs, rules, source, target, limits, stop);
    if (!path.found) return paths;
    const bool is_last = path.steps.empty();
    limits.elements = path.peak_elements - 1;
    // A search that was cut short may have found less than a later one with less room.
    while (!paths.empty() && paths.back().cost >= path.cost)
      paths.pop_back();
    paths.push_back(std::move(path));
    if (is_last) return paths;
  }
}

}  // namespace shardwright::redistribution
