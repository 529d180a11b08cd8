#include "search/redistribution/cheapest_path.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/interner.h"
#include "core/redistribution/placement/placement.h"
#include "search/redistribution/cost_estimate.h"

namespace shardwright::redistribution {

std::size_t Path::num_collectives() const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const PathStep& step) { return step.move.communicates(); }));
}

namespace {

constexpr std::size_t kFirstSlots = 256;

}  // namespace

OpenStates::OpenStates() : slots_(kFirstSlots) {}

void OpenStates::keep(std::size_t slot, const PathState& state) {
  std::uint32_t index = slots_[slot].index;
  if (index == 0) {
    states_.push_back(state);
    index = static_cast<std::uint32_t>(states_.size());
    slots_[slot] = {state.at.code(), state.collectives, index};
    if (states_.size() * 2 > slots_.size()) grow();
  } else {
    states_[index - 1] = state;
  }
  heap_.push_back({state.cost + state.left, state.peak, state.num_steps, index - 1, state.cost});
  std::push_heap(heap_.begin(), heap_.end(), comes_later);
}

std::optional<std::uint32_t> OpenStates::next() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    const PathState& state = states_[entry.index];
    const bool is_current =
        state.cost == entry.cost && state.peak == entry.peak && state.num_steps == entry.num_steps;
    if (is_current) return entry.index;
  }
  return std::nullopt;
}

bool OpenStates::comes_later(const Entry& a, const Entry& b) {
  return std::tie(a.estimate, a.peak, a.num_steps, a.index) >
         std::tie(b.estimate, b.peak, b.num_steps, b.index);
}

std::size_t OpenStates::slot_of(const Placement& at, std::uint32_t collectives) const {
  const std::size_t mask = slots_.size() - 1;
  auto slot = static_cast<std::size_t>(hash_mix(at.code(), collectives)) & mask;
  while (slots_[slot].index != 0 &&
         (slots_[slot].code != at.code() || slots_[slot].collectives != collectives)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void OpenStates::grow() {
  slots_.assign(slots_.size() * 2, Slot());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const PathState& state = states_[i];
    slots_[slot_of(state.at, state.collectives)] = {state.at.code(), state.collectives,
                                                    static_cast<std::uint32_t>(i) + 1};
  }
}

namespace {

using Kind = Move::Kind;

class Director {
 public:
  Director(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source)
      : tensor_(tensor), costs_(costs), at_(source), held_(held(source)) {
    path_.is_optimal = false;
    path_.peak_elements = held_;
  }

  Path run(const Placement& target) {
    reduce(target);
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
      gather(dim, target);
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if (target.is_partial(axis) && !at_.is_partial(axis))
        add({Kind::kToPartial, one(axis), 0, 0, target.reduce_op(axis)});
    }
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
      slice(dim, target);
    path_.found = std::isfinite(path_.cost);
    if (!path_.found) path_.steps.clear();
    return std::move(path_);
  }

 private:
  static Axes one(std::size_t axis) { return Axes(1, static_cast<std::uint8_t>(axis)); }
  std::int64_t held(const Placement& at) const {
    return largest_box(tensor_.shape, tensor_.mesh, at);
  }

  std::int64_t parts(const Placement& at) const {
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis)
      parts *= at.is_shard(axis) ? tensor_.mesh[axis] : 1;
    return parts;
  }

  void reduce(const Placement& target) {
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if (at_.is_partial(axis) && target.on(axis) != at_.on(axis))
        add({Kind::kAllReduce, one(axis), 0, 0, at_.reduce_op(axis)});
    }
  }

  void gather(std::size_t dim, const Placement& target) {
    const Axes wanted = target.axes_of(dim);
    Axes now = at_.axes_of(dim);
    const auto same =
        std::mismatch(now.begin(), now.end(), wanted.begin(), wanted.end()).first - now.begin();
    for (; static_cast<std::ptrdiff_t>(now.size()) > same; now.pop_back())
      add({Kind::kAllGather, one(now.back()), static_cast<std::uint8_t>(dim), 0, ReduceOp::kSum});
  }

  void slice(std::size_t dim, const Placement& target) {
    const Axes wanted = target.axes_of(dim);
    for (std::size_t i = at_.num_axes(dim); i < wanted.size(); ++i)
      add({Kind::kSplit, one(wanted[i]), 0, static_cast<std::uint8_t>(dim), ReduceOp::kSum});
  }

  void add(const Move& move) {
    const Placement next = after(at_, move);
    const std::int64_t held_after = held(next);
    const double cost = costs_.cost({move, held_, held_after, parts(at_)});
    path_.steps.push_back({move, next, cost});
    path_.cost += cost;
    path_.peak_elements = std::max(path_.peak_elements, held_ + held_after);
    at_ = next;
    held_ = held_after;
  }

  const TensorOnMesh& tensor_;
  const StepCosts& costs_;
  Placement at_;
  std::int64_t held_;
  Path path_;
};

}  // namespace

Path direct_path(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source,
                 const Placement& target) {
  return Director(tensor, costs, source).run(target);
}

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Factor that allows for rounding: the search adds up the costs of a path in another order.
constexpr double kAbove = 1 + 1e-12;

Path no_path() {
  Path path;
  path.found = false;
  path.cost = kInfinite;
  return path;
}

// Removes axes of size 1, which have no effect. ColossalAI's rules keep them, since ColossalAI
// prices moves along such axes.
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

  // Returns nullopt if the search reached its limit or was stopped.
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

  // Returns an upper bound of the cost: that of direct_path() if the rules allow this path for
  // certain, otherwise infinity.
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

  // Asks the model only once, since a placement may have thousands of permutes.
  bool prices_permutes() const {
    Move move;
    move.kind = Move::Kind::kPermute;
    move.axes = {0, 1};
    return rules_.groups && tensor_.mesh.size() > 1 && costs_.cost({move, 1, 1, 1}) < kInfinite;
  }

  // Returns true if the last move was a permute. A second permute is useless: two permutes in a row
  // equal one permute along the same axes.
  bool was_permuted(const PathState& state) const {
    return state.num_steps > 0 &&
           is_permutation(tensor_.shape, tensor_.mesh, open_[state.parent].at, state.at);
  }

  // Adds up the steps: the state's own cost and peak are out of date where one of its parents got a
  // better path later, which estimates allow whose rounding exceeds the costs of moves.
  Path path_to(std::uint32_t index) {
    Path path;
    for (; open_[index].num_steps != 0; index = open_[index].parent)
      path.steps.push_back(cheapest_step(open_[open_[index].parent].at, open_[index].at));
    std::reverse(path.steps.begin(), path.steps.end());
    std::int64_t held = largest_box(tensor_.shape, tensor_.mesh, open_[index].at);
    path.peak_elements = held;
    for (const PathStep& step : path.steps) {
      const std::int64_t held_after = largest_box(tensor_.shape, tensor_.mesh, step.after);
      path.cost += step.cost;
      path.peak_elements = std::max(path.peak_elements, held + held_after);
      held = held_after;
    }
    return path;
  }

  // Finds the move between two states again: states store no moves, as few are on the path.
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
  double most_ = kInfinite;  // the search ignores paths that cost more
  MoveVisitor visitor_;
  bool prices_permutes_;
  OpenStates open_;
  std::optional<CostEstimate> estimate_;  // empty without a target: Dijkstra's algorithm
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
    // An earlier search that reached its limit may have returned a path that is not cheaper.
    while (!paths.empty() && paths.back().cost >= path.cost)
      paths.pop_back();
    paths.push_back(std::move(path));
    if (is_last) return paths;
  }
}

}  // namespace shardwright::redistribution
