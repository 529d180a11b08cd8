#include "search/program/tensor/placement_state.h"

#include <algorithm>

namespace shardwright::program {
namespace {

// The positions that differ from `position` only along `axis`, in the order of that coordinate.
std::vector<std::size_t> positions_along(const ProcessMesh& mesh, std::size_t axis,
                                         std::size_t position) {
  const auto stride = static_cast<std::size_t>(mesh.stride(axis));
  const std::size_t first =
      position - static_cast<std::size_t>(mesh.coordinate(position, axis)) * stride;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < static_cast<std::size_t>(mesh.axis_size(axis)); ++i) {
    positions.push_back(first + i * stride);
  }
  return positions;
}

// Translates steps of a mesh into those of one rank.
class Translator {
 public:
  Translator(const Shape& shape, const ProcessMesh& mesh, std::size_t position,
             std::vector<Step>& out)
      : shape_(shape), mesh_(mesh), position_(position), out_(out) {}

  void add(const MeshStep& step, const MeshPlacement& before, const MeshPlacement& next) {
    switch (step.kind) {
      case MeshStep::Kind::kAllGather:
        return gather(step, before);
      case MeshStep::Kind::kSplit: {
        const Part held = program::part_at(shape_, mesh_, before, position_);
        Step slice;
        slice.kind = StepKind::kSlice;
        slice.part = relative(program::part_at(shape_, mesh_, next, position_), held);
        out_.push_back(std::move(slice));
        return;
      }
      case MeshStep::Kind::kToPartial:
        return to_partial(step, before, next);
      case MeshStep::Kind::kAllToAll:
      case MeshStep::Kind::kAllReduce:
      case MeshStep::Kind::kReduceScatter:
        break;
    }
    Step collective = along(step);
    collective.kind = step.kind == MeshStep::Kind::kAllToAll    ? StepKind::kAllToAll
                      : step.kind == MeshStep::Kind::kAllReduce ? StepKind::kAllReduce
                                                                : StepKind::kReduceScatter;
    if (step.kind != MeshStep::Kind::kAllReduce) collective.dim = static_cast<std::int8_t>(step.to);
    if (step.kind == MeshStep::Kind::kAllToAll) {
      collective.other_dim = static_cast<std::int8_t>(step.from);
    } else {
      collective.reduction = before.due[step.axis];
    }
    out_.push_back(std::move(collective));
  }

 private:
  Step along(const MeshStep& step) const {
    Step collective;
    collective.axis = static_cast<std::int8_t>(step.axis);
    collective.group = group_along(mesh_, step.axis, position_);
    return collective;
  }

  void gather(const MeshStep& step, const MeshPlacement& before) {
    Step collective = along(step);
    collective.dim = static_cast<std::int8_t>(step.from);
    collective.kind = StepKind::kAllGather;
    if (step.from != 0 && step.from + 1U == shape_.size())
      collective.kind = StepKind::kConcatGather;
    collective.need_split = step.from != 0 && collective.kind == StepKind::kAllGather;
    const bool split = collective.need_split;
    out_.push_back(std::move(collective));
    if (!split) return;
    Step concat;
    concat.kind = StepKind::kConcat;
    for (const std::size_t position : positions_along(mesh_, step.axis, position_)) {
      concat.parts.push_back(program::part_at(shape_, mesh_, before, position));
    }
    out_.push_back(std::move(concat));
  }

  void to_partial(const MeshStep& step, const MeshPlacement& before, const MeshPlacement& next) {
    // The average or maximum of equal tensors is that tensor, so ranks keep what they hold.
    if (next.due[step.axis] != Reduction::kSum || mesh_.coordinate(position_, step.axis) == 0)
      return;
    Step zero;
    zero.kind = StepKind::kZero;
    zero.part = program::part_at(shape_, mesh_, before, position_);
    out_.push_back(std::move(zero));
  }

  const Shape& shape_;
  const ProcessMesh& mesh_;
  std::size_t position_;
  std::vector<Step>& out_;
};

// The products of the extents of the last axes, from all axes down to none.
std::vector<std::int64_t> boundaries(const ProcessMesh& mesh) {
  std::vector<std::int64_t> products{1};
  for (std::size_t axis = mesh.axes(); axis-- > 0;) {
    products.push_back(products.back() * mesh.axis_size(axis));
  }
  std::reverse(products.begin(), products.end());
  return products;
}

// For each axis of `mesh` the finer axes between its boundaries.
std::vector<MeshPlacement::Axes> runs(const ProcessMesh& mesh,
                                      const std::vector<std::int64_t>& fine) {
  const std::vector<std::int64_t> coarse = boundaries(mesh);
  std::vector<MeshPlacement::Axes> axes(mesh.axes());
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

std::string_view to_name(MeshStep::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames{"all_gather", "all_to_all",     "split",
                                                   "all_reduce", "reduce_scatter", "r_to_p"};
  return kNames[static_cast<std::size_t>(kind)];
}

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

std::vector<MeshPlacement::Axes> unrefined(const ProcessMesh& mesh) {
  std::vector<MeshPlacement::Axes> axes(mesh.axes());
  for (std::size_t i = 0; i < axes.size(); ++i)
    axes[i].push_back(static_cast<std::uint8_t>(i));
  return axes;
}

MeshPlacement placement_of(const DistAttr& attr, const std::vector<MeshPlacement::Axes>& axes) {
  MeshPlacement placement;
  for (const int axis : attr.dims_mapping) {
    placement.dims.emplace_back();
    if (axis >= 0) placement.dims.back() = axes[static_cast<std::size_t>(axis)];
  }
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    for (const std::uint8_t fine : axes[axis])
      placement.due[fine] = attr.partial[axis];
  }
  return placement;
}

std::int64_t pieces(const ProcessMesh& mesh, const MeshPlacement::Axes& axes) {
  std::int64_t product = 1;
  for (const std::uint8_t axis : axes)
    product *= mesh.axis_size(axis);
  return product;
}

Part part_at(const Shape& shape, const ProcessMesh& mesh, const MeshPlacement& placement,
             std::size_t position) {
  Part part;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::int64_t index = 0;
    for (const std::uint8_t axis : placement.dims[dim]) {
      index = index * mesh.axis_size(axis) + mesh.coordinate(position, axis);
    }
    part.push_back(cut(shape[dim], pieces(mesh, placement.dims[dim]), index));
  }
  return part;
}

MeshPlacement after(MeshPlacement placement, const MeshStep& step, Reduction becoming) {
  if (step.kind == MeshStep::Kind::kAllGather || step.kind == MeshStep::Kind::kAllToAll) {
    placement.dims[step.from].pop_back();
  }
  if (step.kind == MeshStep::Kind::kAllReduce || step.kind == MeshStep::Kind::kReduceScatter) {
    placement.due[step.axis] = Reduction::kNone;
  }
  if (step.kind == MeshStep::Kind::kSplit || step.kind == MeshStep::Kind::kAllToAll ||
      step.kind == MeshStep::Kind::kReduceScatter) {
    placement.dims[step.to].push_back(step.axis);
  }
  if (step.kind == MeshStep::Kind::kToPartial) placement.due[step.axis] = becoming;
  return placement;
}

std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position) {
  std::vector<Rank> group;
  for (const std::size_t other : positions_along(mesh, axis, position)) {
    group.push_back(mesh.ids()[other]);
  }
  return group;
}

void append_steps(const Shape& shape, const ProcessMesh& mesh, MeshPlacement source,
                  const MeshPlacement& target, const std::vector<MeshStep>& steps,
                  ReshardPlan& plan) {
  for (const MeshStep& step : steps) {
    const MeshPlacement next = after(source, step, target.due[step.axis]);
    if (mesh.axis_size(step.axis) > 1) {
      for (std::size_t position = 0; position < mesh.size(); ++position) {
        Translator(shape, mesh, position, plan.at(mesh.ids()[position])).add(step, source, next);
      }
    }
    source = next;
  }
}

}  // namespace shardwright::program
