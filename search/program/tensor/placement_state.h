// Placements on a refined mesh, where a dimension may be split by several axes, and the mesh steps
// between them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "core/program/reshard_plan.h"

namespace shardwright::program {

// One operation that all ranks of a mesh do along one axis.
// Thread safety: a value.
struct MeshStep {
  enum class Kind : std::uint8_t {
    kAllGather,      // dim `from` is no longer split by axis
    kAllToAll,       // axis moves from dim `from` to dim `to`
    kSplit,          // dim `to` is split by axis, locally
    kAllReduce,      // what was due on axis is done
    kReduceScatter,  // the same, and dim `to` is split by axis
    kToPartial       // axis becomes partial: all but coordinate 0 hold zeros
  };
  Kind kind = Kind::kSplit;
  std::uint8_t axis = 0;
  std::uint8_t from = 0;
  std::uint8_t to = 0;

  friend bool operator==(const MeshStep&, const MeshStep&) = default;
};
std::string_view to_name(MeshStep::Kind kind);  // "all_gather", "r_to_p", ...

// Which axes split each dimension, outermost first, and what is due on the others.
// Thread safety: a value.
struct MeshPlacement {
  using Axes = boost::container::static_vector<std::uint8_t, kMaxMeshAxes>;
  boost::container::static_vector<Axes, kMaxDims> dims;
  std::array<Reduction, kMaxMeshAxes> due{};

  friend bool operator==(const MeshPlacement&, const MeshPlacement&) = default;
};

// Two meshes over the same list of ranks seen as one finer mesh: every axis of either is a run of
// axes of it.
// Thread safety: a value.
struct Refinement {
  ProcessMesh mesh;
  std::vector<MeshPlacement::Axes> source_axes;  // per axis of the source mesh
  std::vector<MeshPlacement::Axes> target_axes;
};
// Nothing where the lists of ranks differ or the extents do not divide.
std::optional<Refinement> refine(const ProcessMesh& source, const ProcessMesh& target);

MeshPlacement placement_of(const DistAttr& attr, const std::vector<MeshPlacement::Axes>& axes);
// Every axis stands for itself.
std::vector<MeshPlacement::Axes> unrefined(const ProcessMesh& mesh);

// How many pieces a dimension is in.
std::int64_t pieces(const ProcessMesh& mesh, const MeshPlacement::Axes& axes);
Part part_at(const Shape& shape, const ProcessMesh& mesh, const MeshPlacement& placement,
             std::size_t position);

// The placement after a step. Precondition: the step can be done.
MeshPlacement after(MeshPlacement placement, const MeshStep& step, Reduction becoming);

// What the steps mean for every rank. `target` says which reductions become due. Appends to `plan`.
void append_steps(const Shape& shape, const ProcessMesh& mesh, MeshPlacement source,
                  const MeshPlacement& target, const std::vector<MeshStep>& steps,
                  ReshardPlan& plan);

// The ranks along `axis` through the rank at `position`.
std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position);

}  // namespace shardwright::program
