#include "core/redistribution/placement/move.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/redistribution/placement/permutation.h"
#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

constexpr std::array<std::string_view, Move::kNumKinds> kNames{
    "all_gather", "all_to_all", "split", "all_reduce", "reduce_scatter", "r_to_p", "permute"};

Error refused(const Move& move, const std::string& reason) {
  return invalid_input("", to_text(move) + ": " + reason);
}

bool takes_shards(Kind kind) { return kind == Kind::kAllGather || kind == Kind::kAllToAll; }
bool makes_shards(Kind kind) {
  return kind == Kind::kAllToAll || kind == Kind::kSplit || kind == Kind::kReduceScatter;
}
bool reduces(Kind kind) { return kind == Kind::kAllReduce || kind == Kind::kReduceScatter; }

Status check_axis_lists(const MeshShape& mesh, const Move& move) {
  if (move.axes.empty()) return refused(move, "names no axis");
  for (std::size_t i = 0; i < move.axes.size(); ++i) {
    if (move.axes[i] >= mesh.size()) {
      return refused(move, "the mesh has no axis " + std::to_string(move.axes[i]));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (move.axes[i] == move.axes[j]) return refused(move, "names an axis twice");
    }
  }
  return {};
}

Status check_permute(const MeshShape& mesh, const Shape& shape, const Placement& placement,
                     const Move& move) {
  if (!is_permutation(shape, mesh, placement, move.permuted))
    return refused(move, "devices would hold other parts than before");
  if (permuted_axes(mesh, placement, move.permuted) != move.axes)
    return refused(move, "these are not the axes along which devices send");
  return {};
}

Status check_taken(const Placement& placement, const Move& move) {
  const Axes sharding = placement.axes_of(move.from);
  const std::size_t kept = sharding.size() - std::min(sharding.size(), move.axes.size());
  if (Axes(sharding.begin() + static_cast<std::ptrdiff_t>(kept), sharding.end()) != move.axes) {
    return refused(move,
                   "these are not the innermost axes of dimension " + std::to_string(move.from));
  }
  if (move.kind == Kind::kAllToAll && move.from == move.to) {
    return refused(move, "exchanges a dimension with itself");
  }
  return {};
}

Status check_reduced(const Placement& placement, const Move& move) {
  for (const std::uint8_t axis : move.axes) {
    if (!placement.is_partial(axis) || !commute(placement.reduce_op(axis), move.reduce_op)) {
      return refused(move, "axis " + std::to_string(axis) + " has no such reduction due");
    }
  }
  return {};
}

Status check_replicated(const Placement& placement, const Move& move) {
  for (const std::uint8_t axis : move.axes) {
    if (!placement.is_replicate(axis)) {
      return refused(move, "axis " + std::to_string(axis) + " is not replicated");
    }
  }
  if (move.kind == Kind::kToPartial && move.reduce_op == ReduceOp::kProduct) {
    return refused(move, "no device makes the factors of a product from its value");
  }
  if (move.kind == Kind::kToPartial && !placement.commutes(move.reduce_op)) {
    return refused(move, "does not commute with the reductions that are due");
  }
  return {};
}

}  // namespace

std::string_view to_name(Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string to_text(const Move& move) {
  std::string text(to_name(move.kind));
  text += '(';
  for (std::size_t i = 0; i < move.axes.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(move.axes[i]);
  text += ')';
  if (takes_shards(move.kind)) text += " of dim " + std::to_string(move.from);
  if (makes_shards(move.kind)) text += " to dim " + std::to_string(move.to);
  if (reduces(move.kind) || move.kind == Kind::kToPartial)
    text += std::string(" by ") + name_of(move.reduce_op);
  return text;
}

Status check_move(const MeshShape& mesh, const Shape& shape, const Placement& placement,
                  const Move& move) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_axis_lists(mesh, move));
  if (takes_shards(move.kind) && move.from >= shape.size()) {
    return refused(move, "the tensor has no dimension " + std::to_string(move.from));
  }
  if (makes_shards(move.kind) && move.to >= shape.size()) {
    return refused(move, "the tensor has no dimension " + std::to_string(move.to));
  }
  if (move.kind == Kind::kPermute) return check_permute(mesh, shape, placement, move);
  if (takes_shards(move.kind)) return check_taken(placement, move);
  return reduces(move.kind) ? check_reduced(placement, move) : check_replicated(placement, move);
}

Placement after(Placement placement, const Move& move) {
  if (move.kind == Kind::kPermute) return move.permuted;
  for (std::size_t i = move.axes.size(); i-- > 0;)
    placement = placement.with_replicate(move.axes[i]);
  if (move.kind == Kind::kToPartial)
    return placement.with_partial(move.axes.front(), move.reduce_op);
  if (!makes_shards(move.kind)) return placement;
  for (const std::uint8_t axis : move.axes)
    placement = placement.with_shard(axis, move.to);
  return placement;
}

std::int64_t sent_elements(const Shape& shape, const MeshShape& mesh, const Placement& before,
                           const Move& move) {
  const std::int64_t held = largest_box(shape, mesh, before);
  const std::int64_t devices = devices_along(mesh, move.axes);
  switch (move.kind) {
    case Kind::kAllGather:
      return held * (devices - 1);
    case Kind::kAllToAll:
    case Kind::kReduceScatter:
      return held - held / devices;
    case Kind::kAllReduce:
      return 2 * (held - held / devices);
    case Kind::kPermute:
      return held;
    case Kind::kSplit:
    case Kind::kToPartial:
      return 0;
  }
  return 0;
}

}  // namespace shardwright::redistribution
