// The conversions of a tensor that one collective can make, visited without allocating, and what
// collectives cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/operators/graph/sharding_spec.h"

namespace shardwright::operators {

// Times of collectives along one axis of a mesh. Several axes count as the mesh flattened to one
// axis of all its devices. `volume` is in elements; the unit of the result is that of alpha. The
// order of multiplications and divisions is ColossalAI's. Source: AlphaBetaProfiler / DeviceMesh
// cost functions, ColossalAI colossalai/device/device_mesh.py.
struct CollectiveAxis {
  std::uint32_t devices = 1;
  double alpha = 0;
  double beta = 0;

  static CollectiveAxis along(const DeviceMesh& mesh, int axis);
  static CollectiveAxis flattened(const DeviceMesh& mesh);
  // Along the axis if `axes` has one axis, along the flattened mesh if it has several axes.
  static CollectiveAxis over(const DeviceMesh& mesh, std::uint8_t axes);

  double all_gather(double volume) const;
  double all_reduce(double volume) const;
  double reduce_scatter(double volume) const;
  double all_to_all(double volume) const;
};

// Forward, backward and total time.
struct PhaseCost {
  double forward = 0;
  double backward = 0;
  double total = 0;

  friend bool operator==(const PhaseCost&, const PhaseCost&) = default;
};

enum class ReshardPattern : std::uint8_t { kAllGather, kAllToAll, kShard };

// One conversion: gathers `gather_dim` and splits `shard_dim` along `axis`. No other dimension
// changes.
// Thread safety: a value.
struct ReshardMove {
  ReshardPattern pattern = ReshardPattern::kAllGather;
  std::uint8_t gather_dim = 0;
  std::uint8_t shard_dim = 0;
  std::uint8_t axis = 0;
  DimSpecs result;

  friend bool operator==(const ReshardMove&, const ReshardMove&) = default;
};

// The cost of a move of a tensor of which each device holds `local_elements` before it. Source:
// CommSpec.get_comm_cost, ColossalAI colossalai/tensor/comm_spec.py.
PhaseCost move_cost(const DeviceMesh& mesh, const ReshardMove& move, std::int64_t local_elements);

// The elements that each device holds after the move.
std::int64_t elements_after(const DeviceMesh& mesh, const ReshardMove& move,
                            std::int64_t local_elements);

namespace generators {

inline ReshardMove make_move(ReshardPattern pattern, std::size_t gather_dim, std::size_t shard_dim,
                             int axis, const DimSpecs& result) {
  return {pattern, static_cast<std::uint8_t>(gather_dim), static_cast<std::uint8_t>(shard_dim),
          static_cast<std::uint8_t>(axis), result};
}

inline bool divides(const DeviceMesh& mesh, const TensorShape& shape, std::size_t dim,
                    DimSpec spec) {
  return shape.dims[dim] % mesh.devices_along(spec.axes) == 0;
}

template <class Visit>
void visit_all_to_all(const DeviceMesh& mesh, const TensorShape& shape, const DimSpecs& from,
                      std::size_t first, std::size_t second, Visit&& visit) {
  const DimSpec a = from[first];
  const DimSpec b = from[second];
  if (a.replicated() && b.replicated()) return;
  if (a.num_axes() > 1 || b.num_axes() > 1) return;
  if (b.replicated()) {
    if (!divides(mesh, shape, second, a)) return;
    visit(make_move(ReshardPattern::kAllToAll, first, second, a.last_axis(),
                    from.with(first, DimSpec{}).with(second, a)));
    return;
  }
  if (a.last_axis() >= b.last_axis()) return;
  const DimSpec joined = a.with(b.last_axis());
  if (!divides(mesh, shape, first, joined)) return;
  visit(make_move(ReshardPattern::kAllToAll, second, first, b.last_axis(),
                  from.with(first, joined).with(second, DimSpec{})));
}

}  // namespace generators

// Calls `visit(const ReshardMove&)` for each move possible from `from`: gathers of the last axis of
// a dimension, then all-to-alls between two dimensions, then splits of a dimension along an unused
// axis above all axes of the dimension. Leaves out exchanges and splits that would not divide a
// dimension evenly. Does not allocate. Precondition: `from` is valid for the shape. Source:
// get_all_one_step_transform_spec, ColossalAI colossalai/tensor/shape_consistency.py.
template <class Visit>
void for_each_move(const DeviceMesh& mesh, const TensorShape& shape, const DimSpecs& from,
                   Visit&& visit) {
  const std::size_t rank = from.rank();
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const DimSpec spec = from[dim];
    if (spec.replicated()) continue;
    visit(generators::make_move(ReshardPattern::kAllGather, dim, dim, spec.last_axis(),
                                from.with(dim, spec.without(spec.last_axis()))));
  }
  for (std::size_t first = 0; first < rank; ++first) {
    for (std::size_t second = first + 1; second < rank; ++second)
      generators::visit_all_to_all(mesh, shape, from, first, second, visit);
  }
  const DimSpec used{from.used_axes()};
  const int num_axes = static_cast<int>(mesh.num_axes());
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const DimSpec spec = from[dim];
    for (int axis = spec.last_axis() + 1; axis < num_axes; ++axis) {
      if (used.has(axis) || !generators::divides(mesh, shape, dim, spec.with(axis))) continue;
      visit(generators::make_move(ReshardPattern::kShard, dim, dim, axis,
                                  from.with(dim, spec.with(axis))));
    }
  }
}

// A move with its cost in elements. Multiply by the element size for bytes.
// Thread safety: a value.
struct ReshardStep : ReshardMove {
  PhaseCost cost;

  friend bool operator==(const ReshardStep&, const ReshardStep&) = default;
};

// The valid conversions of `from` in one step, in ColossalAI's order: gathers, all-to-alls, splits;
// each result once. Precondition: `from` is valid for the shape.
std::vector<ReshardStep> one_step_reshards(const SpecTable& table, const TensorShape& shape,
                                           const DimSpecs& from);

// How a path is found, and what its cost is.
enum class PathCost : std::uint8_t {
  kCompat,  // ColossalAI's greedy path and its sum; see path_cost()
  kSum,     // the same path, the sum of its steps
  kExact,   // the cheapest path by the sum of total costs
};

// A path. It has no steps if the two specs are equal.
// Thread safety: a value.
struct ReshardPath {
  bool found = true;  // false if the greedy search gives up: no steps, infinite cost
  std::vector<ReshardStep> steps;
  PhaseCost cost;
  // The most elements that a device holds while converting, with the source; 0 without steps.
  std::int64_t peak_elements = 0;

  friend bool operator==(const ReshardPath&, const ReshardPath&) = default;
};

// The cost of all steps. kSum and kExact add up the steps. kCompat doubles the running total before
// each step, so the k-th of n steps counts 2^(n-k) times.
PhaseCost path_cost(std::span<const ReshardStep> steps, PathCost mode);

// Searches the path between two specs of one shape. Precondition: both are valid for the shape.
// Greedy: O(steps x moves), allocates only the result. Exact: O(valid specs of the shape x moves).
ReshardPath find_reshard_path(const SpecTable& table, const TensorShape& shape,
                              const DimSpecs& from, const DimSpecs& to, PathCost mode);

// Searches once per (shape, source, target).
// Thread safety: const members and path() may be called from any thread.
class ReshardPlanner {
 public:
  // The table must outlive the planner.
  ReshardPlanner(SpecTable& table, PathCost mode);
  ~ReshardPlanner();
  ReshardPlanner(const ReshardPlanner&) = delete;
  ReshardPlanner& operator=(const ReshardPlanner&) = delete;

  // Precondition: both specs belong to the table and have one shape. The path lives as long as the
  // planner. Once it is known, O(1) and without a lock.
  const ReshardPath& path(const ShardingSpec* from, const ShardingSpec* to);
  // The total cost of that path. Equal specs cost nothing and need no search.
  double cost(const ShardingSpec* from, const ShardingSpec* to) {
    return from == to ? 0 : path(from, to).cost.total;
  }

  // The number of paths found by a search, each counted once. Threads that ask for the same new
  // path at once may all search, but one result is kept.
  std::size_t num_searches() const;

 private:
  class Memo;
  SpecTable* table_;
  PathCost mode_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace shardwright::operators
