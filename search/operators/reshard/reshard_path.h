// How to convert a tensor from one sharding spec to another, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/mesh/sharding_spec.h"
#include "search/operators/reshard/alpha_beta.h"
#include "search/operators/reshard/one_step.h"

namespace shardwright::operators {

// A move with what it costs, in elements; times the element size = bytes.
// Thread safety: a value.
struct ReshardStep : ReshardMove {
  PhaseCost cost;

  friend bool operator==(const ReshardStep&, const ReshardStep&) = default;
};

// The conversions possible from `from` in one step, in ColossalAI's order: gathers, all-to-alls,
// splits; each result once, invalid ones dropped. Precondition: `from` is valid for the shape.
std::vector<ReshardStep> one_step_reshards(const SpecTable& table, const TensorShape& shape,
                                           const DimSpecs& from);

// How a path is found and priced.
enum class PathCost : std::uint8_t {
  kCompat,  // ColossalAI's greedy path; each step adds the running total once more
  kSum,     // the same path, the sum of its steps
  kExact,   // the cheapest path by the sum of total costs
};

// A path; no steps where the two specs are equal.
// Thread safety: a value.
struct ReshardPath {
  bool found = true;  // false where the greedy search gives up: no steps, infinite cost
  std::vector<ReshardStep> steps;
  PhaseCost cost;
  // Per device, while converting, the source included; 0 where nothing is converted.
  std::int64_t peak_elements = 0;

  friend bool operator==(const ReshardPath&, const ReshardPath&) = default;
};

// What steps cost together: kSum and kExact add them up; kCompat adds the running total to each
// step and then both, so that of n steps the k-th counts 2^(n-k) times.
PhaseCost path_cost(std::span<const ReshardStep> steps, PathCost mode);

// The path between two specs of one shape, searched anew. Preconditions: both valid for the shape.
// Greedy: O(steps x moves), allocates the result alone. Exact: O(valid specs of the shape x moves).
ReshardPath find_reshard_path(const SpecTable& table, const TensorShape& shape,
                              const DimSpecs& from, const DimSpecs& to, PathCost mode);

}  // namespace shardwright::operators
