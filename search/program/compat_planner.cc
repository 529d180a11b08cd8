#include "search/program/compat_planner.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/program/simulate.h"
#include "search/redistribution/rank_steps.h"

namespace shardwright::program {
namespace {

using redistribution::Axes;
using redistribution::Placement;

// Returns the products of the sizes of the last axes, from the product of all axes down to 1.
std::vector<std::int64_t> boundaries(const ProcessMesh& mesh) {
  std::vector<std::int64_t> products{1};
  for (std::size_t axis = mesh.axes(); axis-- > 0;) {
    products.push_back(products.back() * mesh.axis_size(axis));
  }
  std::reverse(products.begin(), products.end());
  return products;
}

// Returns, for each axis of `mesh`, the axes of the refined mesh between its boundaries.
std::vector<Axes> runs(const ProcessMesh& mesh, const std::vector<std::int64_t>& fine) {
  const std::vector<std::int64_t> coarse = boundaries(mesh);
  std::vector<Axes> axes(mesh.axes());
  for (std::size_t i = 0; i < mesh.axes(); ++i) {
    for (std::size_t j = 0; j + 1 < fine.size(); ++j) {
      if (fine[j] <= coarse[i] && fine[j + 1] >= coarse[i + 1]) {
        axes[i].push_back(static_cast<std::uint8_t>(j));
      }
    }
  }
  return axes;
}

}  // namespace

std::optional<Refinement> refine(const ProcessMesh& source, const ProcessMesh& target) {
  if (source.ids() != target.ids()) return std::nullopt;
  std::vector<std::int64_t> fine = boundaries(source);
  const std::vector<std::int64_t> other = boundaries(target);
  fine.insert(fine.end(), other.begin(), other.end());
  std::sort(fine.begin(), fine.end(), std::greater<>());
  fine.erase(std::unique(fine.begin(), fine.end()), fine.end());
  if (fine.size() > kMaxMeshAxes + 1) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i + 1 < fine.size(); ++i) {
    if (fine[i] % fine[i + 1] != 0) return std::nullopt;
    shape.push_back(fine[i] / fine[i + 1]);
  }
  Refinement refinement;
  refinement.source_axes = runs(source, fine);
  refinement.target_axes = runs(target, fine);
  refinement.mesh = ProcessMesh::make_unchecked(std::move(shape), source.ids());
  return refinement;
}

Placement placement_of(const DistAttr& attr, const std::vector<Axes>& axes) {
  Placement placement;
  for (std::size_t dim = 0; dim < attr.dims_mapping.size(); ++dim) {
    if (attr.dims_mapping[dim] < 0) continue;
    for (const std::uint8_t fine : axes[static_cast<std::size_t>(attr.dims_mapping[dim])])
      placement = placement.with_shard(fine, dim);
  }
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == Reduction::kNone) continue;
    for (const std::uint8_t fine : axes[axis])
      placement = placement.with_partial(fine, op_of(attr.partial[axis]));
  }
  return placement;
}

std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position) {
  std::vector<Rank> group;
  const Axes one(1, static_cast<std::uint8_t>(axis));
  for (const std::int64_t other :
       redistribution::devices_through(mesh.shape(), one, static_cast<std::int64_t>(position))) {
    group.push_back(mesh.ids()[static_cast<std::size_t>(other)]);
  }
  return group;
}

namespace {

// Returns true if the members' parts, joined along dimension 0, are what the rank wants.
bool gathers_wanted(const Shape& shape, const DistAttr& source, const DistAttr& target, Rank rank,
                    const Step& gather) {
  std::optional<Part> stack;
  for (const Rank member : gather.group) {
    const Part part = part_at(shape, source, *source.mesh.position_of(member));
    if (!stack) {
      stack = part;
      continue;
    }
    const std::optional<Join> fit = join(*stack, part);
    if (!fit || fit->dim != 0 || !fit->first_is_lower) return false;
    stack = fit->joined;
  }
  return stack == part_at(shape, target, *target.mesh.position_of(rank));
}

}  // namespace

bool gathers_correctly(const ReshardPlan& plan, const Shape& shape, const DistAttr& source,
                       const DistAttr& target) {
  std::unordered_map<Rank, const std::vector<Rank>*> groups;
  for (const auto& [rank, steps] : plan.ranks) {
    const Step& first = steps.front();
    if (is_collective(first.kind)) {
      if (first.kind == StepKind::kAllGather && !first.need_split &&
          !gathers_wanted(shape, source, target, rank, first)) {
        return false;
      }
      groups.emplace(rank, &first.group);
      continue;
    }
    const std::size_t position = *source.mesh.position_of(rank);
    const Part held = part_at(shape, source, position);
    const Part wanted = part_at(shape, target, *target.mesh.position_of(rank));
    if (first.part != relative(wanted, held)) return false;
    if (!lies_within(first.part, shape_of(held))) return false;
  }
  for (const auto& [rank, group] : groups) {
    if (std::find(group->begin(), group->end(), rank) == group->end()) return false;
    for (const Rank member : *group) {
      const auto other = groups.find(member);
      if (other == groups.end() || *other->second != *group) return false;
    }
  }
  return true;
}

bool joins_all_parts(const ReshardPlan& plan) {
  for (const auto& [rank, steps] : plan.ranks) {
    for (const Step& step : steps) {
      std::vector<Part> boxes;
      for (const Part& part : step.parts)
        absorb(boxes, part, [](std::size_t, const Join&) {});
      if (boxes.size() > 1) return false;
    }
  }
  return true;
}

namespace {

using redistribution::Axes;
using redistribution::Move;
using redistribution::ReduceOp;

Axes one(std::size_t axis) { return Axes(1, static_cast<std::uint8_t>(axis)); }
std::uint8_t dim_of(std::size_t dim) { return static_cast<std::uint8_t>(dim); }

Step concat_step(std::vector<Part> parts) {
  Step step;
  step.kind = StepKind::kConcat;
  step.parts = std::move(parts);
  return step;
}

// Returns the first of the boxes into which the parts join.
Part first_joined(const std::vector<Part>& parts) {
  std::vector<Part> boxes;
  for (const Part& part : parts)
    absorb(boxes, part, [](std::size_t, const Join&) {});
  return boxes.front();
}

Step slice_step(const Part& target, const Part& joined) {
  Step step;
  step.kind = StepKind::kSlice;
  step.part = relative(target, joined);
  return step;
}

// Ranks that hold the same part, and how many of them have sent it already.
struct Owners {
  Part part;
  std::vector<Rank> ranks;
  std::size_t used = 0;

  Rank next() { return used < ranks.size() ? ranks[used++] : ranks.front(); }
};

std::vector<Owners> owners_of(const Shape& shape, const DistAttr& source) {
  std::vector<Owners> owners;
  for (std::size_t i = 0; i < source.mesh.size(); ++i) {
    Part part = part_at(shape, source, i);
    auto same = std::find_if(owners.begin(), owners.end(),
                             [&](const Owners& other) { return other.part == part; });
    if (same == owners.end()) same = owners.insert(owners.end(), Owners{std::move(part), {}, 0});
    same->ranks.push_back(source.mesh.ids()[i]);
  }
  return owners;
}

ReshardPlan send_parts(const Shape& shape, const DistAttr& source, const DistAttr& target) {
  ReshardPlan plan;
  std::vector<Owners> owners = owners_of(shape, source);
  for (std::size_t t = 0; t < target.mesh.size(); ++t) {
    const Rank receiver = target.mesh.ids()[t];
    const Part wanted = part_at(shape, target, t);
    std::vector<Part> received;
    // Visits parts in the order of the first source rank that holds them.
    for (Owners& owner : owners) {
      if (!overlap(owner.part, wanted)) continue;
      Step step;
      step.src = owner.next();
      step.dst = receiver;
      step.part = owner.part;
      step.kind = StepKind::kSend;
      plan.at(step.src).push_back(step);
      step.kind = StepKind::kRecv;
      plan.at(receiver).push_back(step);
      received.push_back(owner.part);
    }
    std::vector<Step>& steps = plan.at(receiver);
    const Part joined = first_joined(received);
    steps.push_back(concat_step(std::move(received)));
    steps.push_back(slice_step(wanted, joined));
  }
  return plan;
}

bool all_replicated(const DimsMapping& mapping, std::size_t dims) {
  return std::all_of(mapping.begin(), mapping.begin() + static_cast<std::ptrdiff_t>(dims),
                     [](int axis) { return axis == -1; });
}

// Plans source and target on the same ranks in the same order. The ranks form groups; each group
// holds every part of the source once.
class SameRanks {
 public:
  SameRanks(const Shape& shape, const DistAttr& source, const DistAttr& target)
      : shape_(shape), source_(source), target_(target), classes_(owners_of(shape, source)) {}

  ReshardPlan plan() const {
    ReshardPlan plan;
    for (std::size_t i = 0; i < classes_.front().ranks.size(); ++i) {
      std::vector<Rank> group;
      for (const Owners& same : classes_)
        group.push_back(same.ranks[i]);
      for (const Rank rank : group)
        plan.at(rank) = sequence(rank, group);
    }
    return plan;
  }

 private:
  std::vector<Step> sequence(Rank rank, const std::vector<Rank>& group) const {
    const DimsMapping& from = source_.dims_mapping;
    const DimsMapping& to = target_.dims_mapping;
    const std::size_t dims = shape_.size();
    Step gather;
    if (all_replicated(to, dims) && all_replicated(from, dims - 1) && from.back() != -1) {
      gather.kind = StepKind::kConcatGather;
      gather.group = group;
      return {gather};
    }
    const Part wanted = part_at(shape_, target_, *target_.mesh.position_of(rank));
    std::vector<Part> kept;
    gather.kind = StepKind::kAllGather;
    for (std::size_t k = 0; k < group.size(); ++k) {
      if (!overlap(classes_[k].part, wanted)) continue;
      gather.group.push_back(group[k]);
      kept.push_back(classes_[k].part);
    }
    if (to[0] == -1 && from[0] != -1 && std::equal(to.begin() + 1, to.end(), from.begin() + 1)) {
      return {gather, Step()};
    }
    const Step slice = slice_step(wanted, first_joined(kept));
    if (kept.size() <= 1) return {slice};
    gather.need_split = true;
    return {gather, concat_step(std::move(kept)), slice};
  }

  const Shape& shape_;
  const DistAttr& source_;
  const DistAttr& target_;
  std::vector<Owners> classes_;
};

Error uneven() {
  return {ErrorCode::kUnsupported, "compat mode requires dimensions that split evenly", "/shape"};
}

}  // namespace

std::vector<Move> compat_mesh_moves(const DistAttr& source, const DistAttr& target) {
  using Kind = Move::Kind;
  std::vector<Move> moves;
  DimsMapping now = source.dims_mapping;
  const DimsMapping& to = target.dims_mapping;
  std::size_t differing = now.size();  // one past the last differing dimension
  while (differing > 0 && now[differing - 1] == to[differing - 1])
    --differing;
  const auto axis_of = [](int mapped) { return static_cast<std::size_t>(mapped); };
  std::vector<bool> due(source.mesh.axes(), false);
  for (std::size_t axis = 0; axis < due.size(); ++axis) {
    due[axis] = source.due_on(axis) != Reduction::kNone;
    const bool scattered = std::find(to.begin(), to.end(), static_cast<int>(axis)) != to.end();
    if (!due[axis] || scattered || target.due_on(axis) == source.due_on(axis)) continue;
    moves.push_back({Kind::kAllReduce, one(axis), 0, 0, op_of(source.due_on(axis))});
    due[axis] = false;
  }
  for (std::size_t dim = differing; dim-- > 0;) {
    if (now[dim] < 0) continue;
    moves.push_back({Kind::kAllGather, one(axis_of(now[dim])), dim_of(dim), 0, ReduceOp::kSum});
  }
  for (std::size_t axis = 0; axis < due.size(); ++axis) {
    if (target.due_on(axis) == Reduction::kNone || due[axis]) continue;
    moves.push_back({Kind::kToPartial, one(axis), 0, 0, op_of(target.due_on(axis))});
  }
  for (std::size_t dim = differing; dim-- > 0;) {
    if (to[dim] < 0) continue;
    const std::size_t axis = axis_of(to[dim]);
    if (due[axis]) {
      moves.push_back(
          {Kind::kReduceScatter, one(axis), 0, dim_of(dim), op_of(source.due_on(axis))});
    } else {
      moves.push_back({Kind::kSplit, one(axis), 0, dim_of(dim), ReduceOp::kSum});
    }
  }
  return moves;
}

Result<ReshardPlan> plan_compat(const Shape& shape, const DistAttr& source,
                                const DistAttr& target) {
  if (!splits_evenly(shape, source) || !splits_evenly(shape, target)) return uneven();
  if (source.has_partial() || target.has_partial()) return plan_compat_mesh(shape, source, target);
  const std::vector<Rank>& from = source.mesh.ids();
  const std::vector<Rank>& to = target.mesh.ids();
  if (from == to && shape.empty()) return ReshardPlan();
  if (from == to) return SameRanks(shape, source, target).plan();
  const auto known = [&](Rank rank) {
    return std::find(from.begin(), from.end(), rank) != from.end();
  };
  const auto shared = std::count_if(to.begin(), to.end(), known);
  if (shared != 0 && shared != static_cast<std::ptrdiff_t>(to.size())) return ReshardPlan();
  return send_parts(shape, source, target);
}

Result<ReshardPlan> plan_compat_output(const Shape& shape, const DistAttr& source,
                                       const DistAttr& target) {
  const std::vector<Rank>& senders = source.mesh.ids();
  std::vector<std::size_t> receivers;
  for (std::size_t i = 0; i < target.mesh.size(); ++i) {
    if (!source.mesh.contains(target.mesh.ids()[i])) receivers.push_back(i);
  }
  if (!receivers.empty() && receivers.size() != senders.size() &&
      !all_replicated(target.dims_mapping, shape.size())) {
    return Error{ErrorCode::kUnsupported,
                 "must be replicated to be sent to another number of ranks", ""};
  }
  ReshardPlan plan;
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    Step step;
    step.src = senders[i % senders.size()];
    step.dst = target.mesh.ids()[receivers[i]];
    step.part = part_at(shape, target, receivers[i]);
    // Paddle's Resharder inserts every send right after the operator, so the last send comes first.
    step.kind = StepKind::kSend;
    std::vector<Step>& sends = plan.at(step.src);
    sends.insert(sends.begin(), step);
    step.kind = StepKind::kRecv;
    plan.at(step.dst).push_back(step);
    plan.at(step.dst).push_back(concat_step({step.part}));
  }
  return plan;
}

Result<ReshardPlan> plan_compat_mesh(const Shape& shape, const DistAttr& source,
                                     const DistAttr& target) {
  if (!splits_evenly(shape, source) || !splits_evenly(shape, target)) return uneven();
  if (source.mesh.shape() != target.mesh.shape()) {
    return Error{ErrorCode::kUnsupported,
                 "compat mode moves partial tensors only between meshes of equal shape",
                 "/dst/mesh"};
  }
  DistAttr there = target;
  there.mesh = source.mesh;
  ReshardPlan plan;
  redistribution::append_rank_steps(shape, placed(source), compat_mesh_moves(source, there), plan);
  if (source.mesh.ids() == target.mesh.ids()) return plan;
  // All ranks send before any of them replaces its tensor.
  std::vector<std::pair<Rank, Part>> received;
  for (std::size_t i = 0; i < source.mesh.size(); ++i) {
    Step step;
    step.src = source.mesh.ids()[i];
    step.dst = target.mesh.ids()[i];
    if (step.src == step.dst) continue;
    step.part = part_at(shape, target, i);
    step.kind = StepKind::kSend;
    plan.at(step.src).push_back(step);
    step.kind = StepKind::kRecv;
    plan.at(step.dst).push_back(step);
    received.emplace_back(step.dst, step.part);
  }
  for (const auto& [rank, part] : received)
    plan.at(rank).push_back(concat_step({part}));
  return plan;
}

}  // namespace shardwright::program
