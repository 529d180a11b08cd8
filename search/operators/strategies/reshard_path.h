// The conversions of a tensor that take one collective, and what collectives cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/operators/graph/sharding_spec.h"

namespace shardwright::operators {

// Times of collectives along one axis of a mesh, or along several axes as if the mesh were one axis
// of all its devices. `volume` is in elements; results are in the unit of alpha. Multiplications
// and divisions have ColossalAI's order. Source: AlphaBetaProfiler / DeviceMesh cost functions,
// ColossalAI colossalai/device/device_mesh.py.
struct CollectiveAxis {
  std::uint32_t devices = 1;
  double alpha = 0;
  double beta = 0;

  static CollectiveAxis along(const DeviceMesh& mesh, int axis);
  static CollectiveAxis flattened(const DeviceMesh& mesh);
  // `axes`: a set of bits. One axis: along(); several axes: flattened().
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

// One conversion: gathers `gather_dim`, splits `shard_dim`, or exchanges both, along `axis`. No
// other dimension changes. Thread safety: a value.
struct ReshardMove {
  ReshardPattern pattern = ReshardPattern::kAllGather;
  std::uint8_t gather_dim = 0;
  std::uint8_t shard_dim = 0;
  std::uint8_t axis = 0;
  DimSpecs result;

  friend bool operator==(const ReshardMove&, const ReshardMove&) = default;
};

// Returns the cost of a move. Before it, each device holds `local_elements`. Source:
// CommSpec.get_comm_cost, ColossalAI colossalai/tensor/comm_spec.py.
PhaseCost move_cost(const DeviceMesh& mesh, const ReshardMove& move, std::int64_t local_elements);

// Returns the number of elements that each device holds after the move.
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

// Calls `visit(const ReshardMove&)` for each move possible from `from`. First come gathers of the
// last axis of a dimension, then all-to-alls between two dimensions. Last come splits of a
// dimension along an unused axis with a higher number than all axes of the dimension. Leaves out
// all-to-alls and splits that would not divide a dimension evenly. Does not allocate. Precondition:
// `from` is valid for the shape. Source: get_all_one_step_transform_spec, ColossalAI
// colossalai/tensor/shape_consistency.py.
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

// A move with its cost for elements of one byte. Multiply it by the element size.
// Thread safety: a value.
struct ReshardStep : ReshardMove {
  PhaseCost cost;

  friend bool operator==(const ReshardStep&, const ReshardStep&) = default;
};

// Returns the valid conversions of `from` in one step, in ColossalAI's order: gathers, all-to-alls,
// splits. Contains each result once. Precondition: `from` is valid for the shape.
std::vector<ReshardStep> one_step_reshards(const SpecTable& table, const TensorShape& shape,
                                           const DimSpecs& from);

// How a path is found, and how its cost is computed.
enum class PathCost : std::uint8_t {
  kCompat,  // ColossalAI's greedy path and its sum; see path_cost()
  kSum,     // ColossalAI's path with the sum of its steps
  kExact,   // the path with the least sum of total costs
};

// A path. It has no steps if the two specs are equal. Thread safety: a value.
struct ReshardPath {
  bool found = true;  // false if the greedy search gives up: no steps, infinite cost
  std::vector<ReshardStep> steps;
  PhaseCost cost;
  // The most elements that a device holds at a time, including the source; 0 without steps.
  std::int64_t peak_elements = 0;

  friend bool operator==(const ReshardPath&, const ReshardPath&) = default;
};

// Returns the cost of all steps. kSum and kExact add up the steps. kCompat doubles the sum so far
// before it adds a step, so the k-th of n steps counts 2^(n-k) times.
PhaseCost path_cost(std::span<const ReshardStep> steps, PathCost mode);

// Finds the path between two specs of one shape. Precondition: both are valid for the shape. The
// greedy search of kCompat and kSum is O(steps x moves) and allocates only the result. kExact is
// O(valid specs of the shape x moves).
ReshardPath find_reshard_path(const SpecTable& table, const TensorShape& shape,
                              const DimSpecs& from, const DimSpecs& to, PathCost mode);

// Searches once per (shape, source, target) and keeps the path.
// Thread safety: const members and path() may be called from any thread.
class ReshardPlanner {
 public:
  // The table must outlive the planner.
  ReshardPlanner(SpecTable& table, PathCost mode);
  ~ReshardPlanner();
  ReshardPlanner(const ReshardPlanner&) = delete;
  ReshardPlanner& operator=(const ReshardPlanner&) = delete;

  // Precondition: both specs belong to the table and have the same shape. The path lives as long as
  // the planner. A known path takes O(1), without a lock.
  const ReshardPath& path(const ShardingSpec* from, const ShardingSpec* to);
  // Returns the total cost of that path; 0 for equal specs, without a search.
  double cost(const ShardingSpec* from, const ShardingSpec* to) {
    return from == to ? 0 : path(from, to).cost.total;
  }

  // Returns the number of distinct paths found by a search. Threads that ask for the same new path
  // at once may all search, but one result is kept.
  std::size_t num_searches() const;

 private:
  class Memo;
  SpecTable* table_;
  PathCost mode_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace shardwright::operators
