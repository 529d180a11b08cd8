#include "search/program/best_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "search/program/compat_planner.h"
#include "search/redistribution/rank_steps.h"

namespace shardwright::program {
namespace {

double elements(const Shape& shape) { return static_cast<double>(num_elements(shape)); }

double inter_hop(const Cluster& cluster) {
  return cluster.inter_ring_us + cluster.switch_hops * cluster.switch_us;
}

double beta(const Cluster& cluster, GroupShape group) {
  return group.machines > 1 ? cluster.inter_us_per_byte : cluster.intra_us_per_byte;
}

double ring_us(const Cluster& cluster, GroupShape group) {
  return static_cast<double>(group.ranks - group.machines) * cluster.intra_ring_us +
         static_cast<double>(group.machines - 1) * inter_hop(cluster);
}

redistribution::MoveRules even_moves() {
  redistribution::MoveRules rules;
  rules.uneven = false;
  rules.groups = false;
  return rules;
}

// The shape of one rank's tensor after some steps, and the time that these steps took.
struct Local {
  Shape shape;
  double us = 0;
};

// Adds the time of a collective and updates the local shape.
void collective(const Cluster& cluster, const Step& step, std::int64_t size, Local& local) {
  const GroupShape group = group_shape(cluster, step.group);
  const double bytes = elements(local.shape) * static_cast<double>(size);
  const double whole_bytes = bytes * static_cast<double>(group.ranks);
  const auto dim = static_cast<std::size_t>(std::max<std::int8_t>(step.dim, 0));
  switch (step.kind) {
    case StepKind::kAllReduce:
      local.us += all_reduce_us(cluster, group, bytes);
      return;
    case StepKind::kReduceScatter:
      local.us += exchange_us(cluster, group, bytes);
      if (dim != 0) local.us += local_us(cluster, bytes);
      local.shape[dim] /= group.ranks;
      return;
    case StepKind::kAllToAll:
      local.us += exchange_us(cluster, group, bytes);
      if (dim != 0) local.us += local_us(cluster, bytes);
      if (step.other_dim != 0) local.us += local_us(cluster, bytes);
      local.shape[dim] /= group.ranks;
      local.shape[static_cast<std::size_t>(step.other_dim)] *= group.ranks;
      return;
    case StepKind::kConcatGather:
      local.us += all_gather_us(cluster, group, whole_bytes);
      local.shape.back() *= group.ranks;
      return;
    default:
      local.us += all_gather_us(cluster, group, whole_bytes);
      if (!step.need_split && !local.shape.empty()) local.shape.front() *= group.ranks;
      return;
  }
}

Part bounding(const std::vector<Part>& parts) {
  Part box = parts.front();
  for (const Part& part : parts) {
    for (std::size_t dim = 0; dim < box.size(); ++dim) {
      box[dim] = {std::min(box[dim].begin, part[dim].begin), std::max(box[dim].end, part[dim].end)};
    }
  }
  return box;
}

void advance(const Cluster& cluster, const Step& step, std::int64_t size, Local& local) {
  if (is_collective(step.kind)) return collective(cluster, step, size, local);
  const double part_bytes =
      step.part.empty() ? 0 : static_cast<double>(num_elements(step.part) * size);
  switch (step.kind) {
    case StepKind::kSend:
    case StepKind::kRecv:
      local.us += send_us(cluster, cluster.machine_of(step.src) == cluster.machine_of(step.dst),
                          part_bytes);
      if (!step.local.empty()) local.us += local_us(cluster, part_bytes);
      return;
    case StepKind::kKeep:
      if (!step.local.empty()) local.us += local_us(cluster, part_bytes);
      return;
    case StepKind::kConcat:
      local.shape = shape_of(bounding(step.parts));
      if (step.parts.size() > 1) {
        local.us += local_us(cluster, elements(local.shape) * static_cast<double>(size));
      }
      return;
    case StepKind::kSlice:
      // A split writes all its pieces.
      local.us += local_us(cluster, elements(local.shape) * static_cast<double>(size));
      local.shape = shape_of(step.part);
      return;
    case StepKind::kZero:
      local.shape = shape_of(step.part);
      local.us += local_us(cluster, part_bytes);
      return;
    default:
      return;
  }
}

}  // namespace

GroupShape group_shape(const Cluster& cluster, const std::vector<Rank>& group) {
  std::vector<std::int64_t> machines;
  machines.reserve(group.size());
  for (const Rank rank : group)
    machines.push_back(cluster.machine_of(rank));
  std::sort(machines.begin(), machines.end());
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  return {static_cast<std::int64_t>(group.size()), static_cast<std::int64_t>(machines.size())};
}

// Source: the cost constants of Paddle's static cost model, for the ring algorithm.
double all_gather_us(const Cluster& cluster, GroupShape group, double bytes) {
  const auto n = static_cast<double>(group.ranks);
  return cluster.base_ring_us + ring_us(cluster, group) +
         (n - 1) / n * bytes * beta(cluster, group);
}

// Source: the same constants; a ring within one machine, a tree across machines.
double all_reduce_us(const Cluster& cluster, GroupShape group, double bytes) {
  const auto n = static_cast<double>(group.ranks);
  const auto machines = static_cast<double>(group.machines);
  if (group.machines == 1) {
    return cluster.base_ring_us + 2 * ring_us(cluster, group) +
           2 * (n - 1) / n * bytes * beta(cluster, group);
  }
  return 2 * (n / machines - 1) * cluster.tree_us +
         std::log2(machines) * (cluster.tree_us + cluster.switch_hops * cluster.switch_us) +
         2 * bytes * beta(cluster, group);
}

// Source: the formula of all_gather_us(), for the bytes that move.
double exchange_us(const Cluster& cluster, GroupShape group, double bytes) {
  return all_gather_us(cluster, group, bytes);
}

double send_us(const Cluster& cluster, bool same_machine, double bytes) {
  return cluster.base_ring_us + (same_machine ? cluster.intra_ring_us : inter_hop(cluster)) +
         bytes * (same_machine ? cluster.intra_us_per_byte : cluster.inter_us_per_byte);
}

double local_us(const Cluster& cluster, double bytes) { return bytes / cluster.local_bytes_per_us; }

std::int64_t message_bytes(DataType type) {
  return type == DataType::kBool ? 8 : element_bytes(type);
}

double plan_us(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
               const ReshardPlan& plan) {
  double slowest = 0;
  for (const auto& [rank, steps] : plan.ranks) {
    Local local;
    if (const auto position = source.mesh.position_of(rank)) {
      local.shape = shape_of(part_at(shape, source, *position));
    }
    for (const Step& step : steps)
      advance(cluster, step, message_bytes(type), local);
    slowest = std::max(slowest, local.us);
  }
  return slowest;
}

MeshCosts::MeshCosts(const Cluster& cluster, const ProcessMesh& mesh, const Shape& shape,
                     DataType type)
    : cluster_(&cluster),
      tensor_{mesh.shape(), shape},
      element_bytes_(static_cast<double>(message_bytes(type))) {
  for (std::size_t axis = 0; axis < mesh.axes(); ++axis) {
    GroupShape worst;
    for (std::size_t position = 0; position < mesh.size(); ++position) {
      if (mesh.coordinate(position, axis) != 0) continue;
      const GroupShape group = group_shape(cluster, group_along(mesh, axis, position));
      if (group.machines >= worst.machines) worst = group;
    }
    groups_.push_back(worst);
  }
}

double MeshCosts::cost(const redistribution::PricedMove& step) const {
  using MoveKind = redistribution::Move::Kind;
  const redistribution::Move& move = step.move;
  const GroupShape group = groups_[move.axes.front()];
  if (group.ranks == 1) return 0;
  const double bytes = element_bytes_ * static_cast<double>(step.held_before);
  const auto n = static_cast<double>(group.ranks);
  const double rearranging = local_us(*cluster_, bytes);
  switch (move.kind) {
    case MoveKind::kAllGather: {
      const bool middle = move.from != 0 && move.from + 1U != tensor_.shape.size();
      return all_gather_us(*cluster_, group, n * bytes) + (middle ? n * rearranging : 0);
    }
    case MoveKind::kAllToAll:
      return exchange_us(*cluster_, group, bytes) + (move.to != 0 ? rearranging : 0) +
             (move.from != 0 ? rearranging : 0);
    case MoveKind::kAllReduce:
      return all_reduce_us(*cluster_, group, bytes);
    case MoveKind::kReduceScatter:
      return exchange_us(*cluster_, group, bytes) + (move.to != 0 ? rearranging : 0);
    case MoveKind::kSplit:
    case MoveKind::kToPartial:
      return local_us(*cluster_, bytes);
    case MoveKind::kPermute:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

redistribution::Path cheapest_moves(const MeshCosts& costs, const redistribution::Placement& source,
                                    const redistribution::Placement& target) {
  return find_path(costs.tensor(), costs, even_moves(), source, target);
}

redistribution::Path cheapest_reduction(const MeshCosts& costs,
                                        const redistribution::Placement& source) {
  return find_reducing_path(costs.tensor(), costs, even_moves(), source);
}

namespace {

// A source axis and a target axis along which ranks hold the same terms of a reduction.
struct TermAxes {
  std::size_t source = 0;
  std::size_t target = 0;
};

// Pairs partial axes of the target with partial axes of the source, if possible of the same index.
std::vector<TermAxes> match_terms(const DistAttr& source, const DistAttr& target) {
  std::vector<TermAxes> terms;
  const auto fits = [&](std::size_t axis, std::size_t other) {
    return other < source.mesh.axes() && source.due_on(other) == target.due_on(axis) &&
           source.mesh.axis_size(other) == target.mesh.axis_size(axis) &&
           std::none_of(terms.begin(), terms.end(),
                        [&](const TermAxes& known) { return known.source == other; });
  };
  for (std::size_t axis = 0; axis < target.mesh.axes(); ++axis) {
    if (target.due_on(axis) == Reduction::kNone) continue;
    std::size_t other = fits(axis, axis) ? axis : 0;
    while (other < source.mesh.axes() && !fits(axis, other))
      ++other;
    if (other < source.mesh.axes()) terms.push_back({other, axis});
  }
  return terms;
}

class Mover {
 public:
  Mover(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
        const DistAttr& target, ReshardPlan& plan)
      : cluster_(cluster),
        shape_(shape),
        element_bytes_(static_cast<double>(message_bytes(type))),
        source_(source),
        target_(target),
        terms_(match_terms(source, target)),
        plan_(plan) {
    for (std::size_t i = 0; i < source.mesh.size(); ++i)
      place_.emplace(source.mesh.ids()[i], i);
    busy_us_.assign(source.mesh.size(), 0);
    find_owners();
    for (std::size_t i = 0; i < plan.ranks.size(); ++i)
      slot_.emplace(plan.ranks[i].first, i);
  }

  bool run(const std::stop_token& stop) {
    std::vector<Inbox> inboxes(target_.mesh.size());
    for (std::size_t t = 0; t < inboxes.size(); ++t) {
      if (stop.stop_requested()) return false;
      inboxes[t].wanted = part_at(shape_, target_, t);
      inboxes[t].zero = num_elements(inboxes[t].wanted) == 0 || holds_zeros(t);
      if (!inboxes[t].zero) fill(t, inboxes[t]);
    }
    // Joins come last: a rank that joins its pieces loses the tensor that other ranks still want.
    for (std::size_t t = 0; t < inboxes.size(); ++t) {
      close(target_.mesh.ids()[t], inboxes[t]);
    }
    return true;
  }

 private:
  struct Inbox {
    Part wanted;
    std::vector<Part> parts;
    std::vector<Step> kept;  // boxes of the rank's own tensor
    bool zero = false;
    bool messages = false;
  };

  std::vector<Step>& steps(Rank rank) {
    const auto [at, fresh] = slot_.try_emplace(rank, plan_.ranks.size());
    if (fresh) plan_.ranks.emplace_back(rank, std::vector<Step>());
    return plan_.ranks[at->second].second;
  }

  // Lists the owners of every cell, in the order of their positions. The cells are a grid: one cell
  // for each piece of the source and each combination of the terms that move.
  void find_owners() {
    std::size_t cells = 1;
    for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
      cells *= static_cast<std::size_t>(source_.splits(dim));
    }
    for (const TermAxes& axes : terms_)
      cells *= static_cast<std::size_t>(source_.mesh.axis_size(axes.source));
    owners_.resize(cells);
    for (std::size_t position = 0; position < source_.mesh.size(); ++position) {
      std::size_t cell = 0;
      for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
        const int axis = source_.dims_mapping[dim];
        cell *= static_cast<std::size_t>(source_.splits(dim));
        if (axis < 0) continue;
        cell += static_cast<std::size_t>(
            source_.mesh.coordinate(position, static_cast<std::size_t>(axis)));
      }
      for (const TermAxes& axes : terms_)
        cell = term_cell(cell, source_.mesh, position, axes.source);
      owners_[cell].push_back(position);
    }
  }

  static std::size_t term_cell(std::size_t cell, const ProcessMesh& mesh, std::size_t position,
                               std::size_t axis) {
    return cell * static_cast<std::size_t>(mesh.axis_size(axis)) +
           static_cast<std::size_t>(mesh.coordinate(position, axis));
  }

  bool holds_zeros(std::size_t position) const {
    for (std::size_t axis = 0; axis < target_.partial.size(); ++axis) {
      if (target_.partial[axis] == Reduction::kSum &&
          target_.mesh.coordinate(position, axis) != 0 &&
          std::none_of(terms_.begin(), terms_.end(),
                       [&](const TermAxes& axes) { return axes.target == axis; })) {
        return true;
      }
    }
    return false;
  }

  // Adds the steps that fill the wanted box. Visits the cells that overlap it, in row-major order.
  void fill(std::size_t position, Inbox& inbox) {
    const std::size_t dims = shape_.size();
    boost::container::static_vector<std::vector<std::int64_t>, kMaxDims> indices;
    for (std::size_t dim = 0; dim < dims; ++dim) {
      indices.emplace_back();
      for (std::int64_t i = 0; i < source_.splits(dim); ++i) {
        const Interval held = cut(shape_[dim], source_.splits(dim), i);
        if (std::max(held.begin, inbox.wanted[dim].begin) <
            std::min(held.end, inbox.wanted[dim].end)) {
          indices.back().push_back(i);
        }
      }
    }
    boost::container::static_vector<std::size_t, kMaxDims> at(dims, 0);
    for (;;) {
      std::size_t cell = 0;
      Part held;
      for (std::size_t dim = 0; dim < dims; ++dim) {
        const std::int64_t index = indices[dim][at[dim]];
        cell =
            cell * static_cast<std::size_t>(source_.splits(dim)) + static_cast<std::size_t>(index);
        held.push_back(cut(shape_[dim], source_.splits(dim), index));
      }
      for (const TermAxes& axes : terms_)
        cell = term_cell(cell, target_.mesh, position, axes.target);
      deliver(target_.mesh.ids()[position], cell, held, inbox);
      std::size_t dim = dims;
      while (dim > 0 && ++at[dim - 1] == indices[dim - 1].size())
        at[--dim] = 0;
      if (dim == 0) return;
    }
  }

  void deliver(Rank receiver, std::size_t cell, const Part& held, Inbox& inbox) {
    Step step;
    step.part = intersection(held, inbox.wanted);
    if (step.part != held) step.local = relative(step.part, held);
    inbox.parts.push_back(step.part);
    const std::vector<std::size_t>& owners = owners_[cell];
    const auto self = place_.find(receiver);
    if (self != place_.end() && std::binary_search(owners.begin(), owners.end(), self->second)) {
      step.kind = StepKind::kKeep;
      inbox.kept.push_back(step);
      steps(receiver).push_back(std::move(step));
      return;
    }
    const double bytes = element_bytes_ * static_cast<double>(num_elements(step.part));
    const double cutting = step.local.empty() ? 0 : local_us(cluster_, bytes);
    const auto sent_at = [&](std::size_t owner) {
      const Rank rank = source_.mesh.ids()[owner];
      const bool near = cluster_.machine_of(rank) == cluster_.machine_of(receiver);
      return busy_us_[owner] + send_us(cluster_, near, bytes) + cutting;
    };
    const std::size_t owner =
        *std::min_element(owners.begin(), owners.end(),
                          [&](std::size_t a, std::size_t b) { return sent_at(a) < sent_at(b); });
    const double done_at = sent_at(owner);
    if (self != place_.end()) busy_us_[self->second] += done_at - busy_us_[owner] - cutting;
    busy_us_[owner] = done_at;
    inbox.messages = true;
    step.src = source_.mesh.ids()[owner];
    step.dst = receiver;
    step.kind = StepKind::kSend;
    steps(step.src).push_back(step);
    step.kind = StepKind::kRecv;
    step.local.clear();
    steps(receiver).push_back(std::move(step));
  }

  void close(Rank rank, Inbox& inbox) {
    Step step;
    if (inbox.zero) {
      step.kind = StepKind::kZero;
      step.part = inbox.wanted;
    } else if (!inbox.messages && inbox.parts.size() == 1) {
      // The rank needs only its own tensor, or one box of it.
      drop_keep(rank);
      if (inbox.kept.front().local.empty()) return;
      step.kind = StepKind::kSlice;
      step.part = inbox.kept.front().local;
    } else {
      step.kind = StepKind::kConcat;
      step.parts = std::move(inbox.parts);
    }
    steps(rank).push_back(std::move(step));
  }

  void drop_keep(Rank rank) {
    std::vector<Step>& all = steps(rank);
    all.erase(std::find_if(all.begin(), all.end(),
                           [](const Step& step) { return step.kind == StepKind::kKeep; }));
  }

  const Cluster& cluster_;
  const Shape& shape_;
  double element_bytes_;
  const DistAttr& source_;
  const DistAttr& target_;
  std::vector<TermAxes> terms_;
  ReshardPlan& plan_;
  std::vector<std::vector<std::size_t>> owners_;
  std::vector<double> busy_us_;  // by position in the source: time of its messages so far
  std::unordered_map<Rank, std::size_t> place_;
  std::unordered_map<Rank, std::size_t> slot_;
};

}  // namespace

bool can_move(const DistAttr& source, const DistAttr& target) {
  const auto due = std::count_if(source.partial.begin(), source.partial.end(),
                                 [](Reduction reduction) { return reduction != Reduction::kNone; });
  return due == 0 || static_cast<std::size_t>(due) == match_terms(source, target).size();
}

std::int64_t num_moves(const Shape& shape, const DistAttr& source, const DistAttr& target) {
  std::int64_t boxes = 1;  // pairs of overlapping pieces of target and source
  std::int64_t pieces = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t wanted = target.splits(dim);
    const std::int64_t held = source.splits(dim);
    std::int64_t shared = 0;
    for (std::int64_t i = 0, j = 0; i < wanted && j < held;) {
      const Interval want = cut(shape[dim], wanted, i);
      const Interval have = cut(shape[dim], held, j);
      shared += std::max(want.begin, have.begin) < std::min(want.end, have.end) ? 1 : 0;
      (want.end <= have.end ? i : j) += 1;
    }
    boxes *= shared;
    pieces *= wanted;
  }
  return boxes * (static_cast<std::int64_t>(target.mesh.size()) / pieces);
}

bool append_moves(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan, const std::stop_token& stop) {
  return Mover(cluster, shape, type, source, target, plan).run(stop);
}

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

// A placement between source and target, with the moves between the waypoint and source or target.
struct Waypoint {
  DistAttr attr;
  std::vector<Move> moves;
  double us = 0;  // time of the moves for the slowest rank
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

  // Considers Paddle's plan if it is correct: one gather over several axes at once, whole parts
  // sent to another mesh, or, for partial tensors, steps along axes.
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

  // Returns the cheapest moves between two placements on one mesh, if there are any.
  std::optional<Waypoint> chained(const DistAttr& from, const DistAttr& to,
                                  const DistAttr& waypoint) const {
    const MeshCosts costs(cluster_, from.mesh, shape_, type_);
    const Path path = cheapest_moves(costs, placed(from).placement, placed(to).placement);
    if (!path.found) return std::nullopt;
    return timed({waypoint, moves_of(path), 0}, from);
  }

  // Sets the time of the moves, which start at `from`.
  Waypoint timed(Waypoint waypoint, const DistAttr& from) const {
    ReshardPlan plan;
    append(waypoint.moves, from, plan);
    waypoint.us = plan_us(cluster_, shape_, type_, from, plan);
    return waypoint;
  }

  // Returns placements on the source mesh from which messages may start, with the moves to them.
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
    // The path has no steps if all partial axes have size 1.
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

  // Returns the placements on the target mesh where messages may end, with the moves to the target.
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
    // Splits along axes on which the target is replicated: smaller messages, then gathers.
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

  // Splits the first unsplit dimension that the size of `axis` divides. Empty if there is none.
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
  std::int64_t most_moves_ = 0;  // the most messages of any plan considered
};

}  // namespace

Result<BestPlan> plan_best(const Cluster& cluster, const Shape& shape, DataType type,
                           const DistAttr& source, const DistAttr& target,
                           const std::stop_token& stop) {
  return Planner(cluster, shape, type, source, target, stop).run();
}

}  // namespace shardwright::program
