// How to convert a tensor from one sharding spec to another, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/operators/mesh/sharding_spec.h"
#include "search/operators/reshard/one_step.h"

namespace shardwright::operators {

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
  kCompat,  // ColossalAI's greedy path; each step adds the running total once more
  kSum,     // the same path, the sum of its steps
  kExact,   // the cheapest path by the sum of total costs
};

// A path. It has no steps if the two specs are equal.
// Thread safety: a value.
struct ReshardPath {
  bool found = true;  // false if the greedy search gives up: no steps, infinite cost
  std::vector<ReshardStep> steps;
  PhaseCost cost;
  // Per device while converting, with the source; 0 if nothing is converted.
  std::int64_t peak_elements = 0;

  friend bool operator==(const ReshardPath&, const ReshardPath&) = default;
};

// The cost of all steps. kSum and kExact add them up. kCompat adds the running total once more with
// each step, so that of n steps the k-th counts 2^(n-k) times.
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
