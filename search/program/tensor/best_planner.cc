#include "search/program/tensor/best_planner.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "search/program/tensor/compat_checks.h"
#include "search/program/tensor/compat_planner.h"
#include "search/program/tensor/mesh_refinement.h"
#include "search/program/tensor/move_parts.h"
#include "search/redistribution/rank_steps.h"

namespace shardwright::program {
namespace {

using redistribution::append_rank_steps;
using redistribution::Move;
using redistribution::Path;
using redistribution::Placement;

std::vector<Move> moves_of(const Path& path) {
  std::vector<Move> moves;
  for (const redistribution::PathStep& step : path.steps)
    moves.push_back(step.move);
  return moves;
}

// A placement between source and target, with the moves to it or from it.
struct Waypoint {
  DistAttr attr;
  std::vector<Move> moves;
  double us = 0;  // of the moves, for the slowest rank
};

class Planner {
 public:
  Planner(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
          const DistAttr& target, const std::stop_token& stop)
      : cluster_(cluster),
        shape_(shape),
        type_(type),
        source_(source),
        target_(target),
        stop_(stop) {}

  Result<BestPlan> run() {
    best_.us = std::numeric_limits<double>::infinity();
    if (source_ == target_) return BestPlan();
    if (num_elements(shape_) == 0) {
      DistAttr nothing_due = source_;
      nothing_due.partial.clear();
      moves({nothing_due, {}, 0}, {target_, {}, 0});
      return finish();
    }
    collectives();
    try_compat_plan();
    const std::vector<Waypoint> departures = departures_from_source();
    const std::vector<Waypoint> arrivals = arrivals_at_target();
    for (const Waypoint& departure : departures) {
      for (const Waypoint& arrival : arrivals)
        moves(departure, arrival);
    }
    return finish();
  }

 private:
  Result<BestPlan> finish() {
    if (stop_.stop_requested()) {
      return Error{ErrorCode::kStopped, "the resharding was cancelled", ""};
    }
    if (best_.us == std::numeric_limits<double>::infinity() && most_moves_ > kMaxMoves) {
      return Error{ErrorCode::kUnsupported,
                   "takes " + std::to_string(most_moves_) + " messages between ranks, over the " +
                       std::to_string(kMaxMoves) + " that one resharding may have",
                   ""};
    }
    auto& ranks = best_.plan.ranks;
    ranks.erase(std::remove_if(ranks.begin(), ranks.end(),
                               [](const auto& entry) { return entry.second.empty(); }),
                ranks.end());
    return std::move(best_);
  }

  void collectives() {
    const std::optional<Refinement> fine = refine(source_.mesh, target_.mesh);
    if (!fine) return;
    const MeshCosts costs(cluster_, fine->mesh, shape_, type_);
    const Placement from = placement_of(source_, fine->source_axes);
    Path path = cheapest_moves(costs, from, placement_of(target_, fine->target_axes));
    if (!path.found) return;
    append_rank_steps(shape_, {fine->mesh, from}, moves_of(path), best_.plan);
    best_.us = plan_us(cluster_, shape_, type_, source_, best_.plan);
    best_.path = std::move(path);
  }

  // Paddle's plan, if it is correct: one gather over several axes at once, whole parts sent to
  // another mesh, or, for partial tensors, steps along axes.
  void try_compat_plan() {
    const bool is_partial = source_.has_partial() || target_.has_partial();
    const bool same_ranks = source_.mesh.ids() == target_.mesh.ids();
    const std::vector<Rank>& receivers = target_.mesh.ids();
    const bool disjoint = std::none_of(receivers.begin(), receivers.end(),
                                       [&](Rank rank) { return source_.mesh.contains(rank); });
    if (!is_partial && !same_ranks && !disjoint) return;
    Result<ReshardPlan> plan = plan_compat(shape_, source_, target_);
    if (!plan.ok()) return;
    if (!is_partial && !(same_ranks ? gathers_correctly(*plan, shape_, source_, target_)
                                    : joins_all_parts(*plan))) {
      return;
    }
    const double us = plan_us(cluster_, shape_, type_, source_, *plan);
    if (us >= best_.us) return;
    best_.us = us;
    best_.plan = std::move(plan).value();
    best_.path.reset();
  }

  // The cheapest moves between two placements on one mesh, if there are any.
  std::optional<Waypoint> chained(const DistAttr& from, const DistAttr& to,
                                  const DistAttr& waypoint) const {
    const MeshCosts costs(cluster_, from.mesh, shape_, type_);
    const Path path = cheapest_moves(costs, placed(from).placement, placed(to).placement);
    if (!path.found) return std::nullopt;
    return timed({waypoint, moves_of(path), 0}, from);
  }

  // Fills in the time of the moves, which start at `from`.
  Waypoint timed(Waypoint waypoint, const DistAttr& from) const {
    ReshardPlan plan;
    append(waypoint.moves, from, plan);
    waypoint.us = plan_us(cluster_, shape_, type_, from, plan);
    return waypoint;
  }

  // Placements on the source mesh from which messages may start, with the steps from the source.
  std::vector<Waypoint> departures_from_source() const {
    std::vector<Waypoint> result;
    DistAttr attr = source_;
    attr.partial.clear();
    result.push_back(all_reduced(attr));
    if (source_.has_partial()) {
      if (auto found = cheapest_reduced()) result.push_back(std::move(*found));
      if (can_move(source_, target_)) result.push_back({source_, {}, 0});
    }
    if (source_.mesh.shape() != target_.mesh.shape() || !splits_evenly(shape_, target_)) {
      return result;
    }
    attr.dims_mapping = target_.dims_mapping;
    if (const auto found = chained(source_, attr, attr)) result.push_back(*found);
    if (!source_.has_partial() || !target_.has_partial()) return result;
    attr.partial = target_.partial;
    if (const auto found = chained(source_, attr, attr)) result.push_back(*found);
    return result;
  }

  Waypoint all_reduced(const DistAttr& reduced) const {
    Waypoint waypoint{reduced, {}, 0};
    for (std::size_t axis = 0; axis < source_.partial.size(); ++axis) {
      if (source_.partial[axis] == Reduction::kNone) continue;
      waypoint.moves.push_back({Move::Kind::kAllReduce,
                                redistribution::Axes(1, static_cast<std::uint8_t>(axis)), 0, 0,
                                op_of(source_.partial[axis])});
    }
    return timed(std::move(waypoint), source_);
  }

  std::optional<Waypoint> cheapest_reduced() const {
    const MeshCosts costs(cluster_, source_.mesh, shape_, type_);
    const Path path = cheapest_reduction(costs, placed(source_).placement);
    // No steps: the only partial axes have one rank.
    if (!path.found || path.steps.empty()) return std::nullopt;
    const Placement end = path.steps.back().after;
    DistAttr attr = source_;
    attr.partial.clear();
    for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
      const redistribution::Axes axes = end.axes_of(dim);
      if (axes.size() > 1) return std::nullopt;  // a mapping has one axis per dimension
      attr.dims_mapping[dim] = axes.empty() ? std::int8_t{-1} : static_cast<std::int8_t>(axes[0]);
    }
    return timed({attr, moves_of(path), 0}, source_);
  }

  // Placements on the target mesh where messages may end, with the steps to the target.
  std::vector<Waypoint> arrivals_at_target() const {
    std::vector<Waypoint> result{{target_, {}, 0}};
    if (!splits_evenly(shape_, target_)) return result;
    const auto consider = [&](const DistAttr& attr) {
      if (!splits_evenly(shape_, attr)) return;
      if (const auto found = chained(attr, target_, attr)) result.push_back(*found);
    };
    if (source_.mesh.shape() == target_.mesh.shape()) {
      consider({target_.mesh, source_.dims_mapping, {}});
      if (source_.has_partial()) consider({target_.mesh, source_.dims_mapping, source_.partial});
    }
    // Split along axes on which the target is replicated: less is sent, and gathers follow.
    DistAttr all = target_;
    for (std::size_t axis = 0; axis < target_.mesh.axes(); ++axis) {
      const auto& mapping = target_.dims_mapping;
      if (std::find(mapping.begin(), mapping.end(), static_cast<int>(axis)) != mapping.end() ||
          target_.due_on(axis) != Reduction::kNone || target_.mesh.axis_size(axis) == 1) {
        continue;
      }
      if (const auto one = split_along(axis, target_)) consider(*one);
      const auto more = split_along(axis, all);
      if (!more) continue;
      all = *more;
      consider(all);
    }
    return result;
  }

  // Splits the first unsplit dimension that `axis` divides evenly.
  std::optional<DistAttr> split_along(std::size_t axis, DistAttr attr) const {
    for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
      if (attr.dims_mapping[dim] != -1 || shape_[dim] % attr.mesh.axis_size(axis) != 0) continue;
      attr.dims_mapping[dim] = static_cast<std::int8_t>(axis);
      return attr;
    }
    return std::nullopt;
  }

  void moves(const Waypoint& departure, const Waypoint& arrival) {
    if (std::max(departure.us, arrival.us) >= best_.us) return;
    if (!can_move(departure.attr, arrival.attr)) return;
    const std::int64_t count = num_moves(shape_, departure.attr, arrival.attr);
    most_moves_ = std::max(most_moves_, count);
    if (count > kMaxMoves) return;
    ReshardPlan plan;
    append(departure.moves, source_, plan);
    if (!append_moves(cluster_, shape_, type_, departure.attr, arrival.attr, plan, stop_)) return;
    append(arrival.moves, arrival.attr, plan);
    const double us = plan_us(cluster_, shape_, type_, source_, plan);
    if (us >= best_.us) return;
    best_ = {std::move(plan), us, std::nullopt};
  }

  void append(const std::vector<Move>& moves, const DistAttr& from, ReshardPlan& plan) const {
    append_rank_steps(shape_, placed(from), moves, plan);
  }

  const Cluster& cluster_;
  const Shape& shape_;
  DataType type_;
  const DistAttr& source_;
  const DistAttr& target_;
  const std::stop_token& stop_;
  BestPlan best_;
  std::int64_t most_moves_ = 0;  // of all plans with messages that were considered
};

}  // namespace

Result<BestPlan> plan_best(const Cluster& cluster, const Shape& shape, DataType type,
                           const DistAttr& source, const DistAttr& target,
                           const std::stop_token& stop) {
  return Planner(cluster, shape, type, source, target, stop).run();
}

}  // namespace shardwright::program
