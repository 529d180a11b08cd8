// Placements on a mesh whose dimensions may be split by several axes, and the steps between them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "core/program/reshard_plan.h"

namespace shardwright::program {

// One operation that all ranks of a mesh perform along one axis.
// Thread safety: a value.
struct MeshStep {
  enum class Kind : std::uint8_t {
    kAllGather,      // dimension `from` is no longer split by `axis`
    kAllToAll,       // `axis` splits dimension `to` instead of `from`
    kSplit,          // dimension `to` is split by `axis`, without communication
    kAllReduce,      // the reduction that was due on `axis` is done
    kReduceScatter,  // the same, and dimension `to` is split by `axis`
    kToPartial       // `axis` becomes partial; for a sum, all but coordinate 0 hold zeros
  };
  Kind kind = Kind::kSplit;
  std::uint8_t axis = 0;
  std::uint8_t from = 0;
  std::uint8_t to = 0;

  friend bool operator==(const MeshStep&, const MeshStep&) = default;
};
std::string_view to_name(MeshStep::Kind kind);  // "all_gather", "r_to_p", ...

// For each dimension the axes that split it, outermost first; for each axis the reduction that is
// due.
// Thread safety: a value.
struct MeshPlacement {
  using Axes = boost::container::static_vector<std::uint8_t, kMaxMeshAxes>;
  boost::container::static_vector<Axes, kMaxDims> dims;
  std::array<Reduction, kMaxMeshAxes> due{};

  friend bool operator==(const MeshPlacement&, const MeshPlacement&) = default;
};

// Two meshes over the same list of ranks, seen as one finer mesh. Every axis of either mesh is a
// run of consecutive axes of the finer one.
// Thread safety: a value.
struct Refinement {
  ProcessMesh mesh;
  std::vector<MeshPlacement::Axes> source_axes;  // by axis of the source mesh
  std::vector<MeshPlacement::Axes> target_axes;  // by axis of the target mesh
};
// Empty if the lists of ranks differ, the extents do not divide, or the finer mesh has too many
// axes.
std::optional<Refinement> refine(const ProcessMesh& source, const ProcessMesh& target);

MeshPlacement placement_of(const DistAttr& attr, const std::vector<MeshPlacement::Axes>& axes);
// The axes of a mesh that is not refined: each stands for itself.
std::vector<MeshPlacement::Axes> unrefined(const ProcessMesh& mesh);

// The number of pieces of a dimension that `axes` split.
std::int64_t pieces(const ProcessMesh& mesh, const MeshPlacement::Axes& axes);
Part part_at(const Shape& shape, const ProcessMesh& mesh, const MeshPlacement& placement,
             std::size_t position);

// The placement after a step; `becoming` is the reduction that kToPartial makes due. Precondition:
// the step can be done.
MeshPlacement after(MeshPlacement placement, const MeshStep& step, Reduction becoming);

// Appends the steps of every rank to `plan`. `target` says which reductions become due. Steps along
// axes of size 1 are left out.
void append_steps(const Shape& shape, const ProcessMesh& mesh, MeshPlacement source,
                  const MeshPlacement& target, const std::vector<MeshStep>& steps,
                  ReshardPlan& plan);

// The ranks along `axis` through the rank at `position`.
std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position);

}  // namespace shardwright::program
