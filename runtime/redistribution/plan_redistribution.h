// The public entry for redistributing one tensor: finds the cheapest moves between two placements.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "core/redistribution/cost/topology_costs.h"
#include "core/redistribution/placement/placement.h"
#include "core/status.h"
#include "search/redistribution/cheapest_path.h"

namespace shardwright {

// A tensor on a mesh with its present placement and the placement that is wanted.
struct RedistributionCase {
  redistribution::MeshShape mesh;
  redistribution::Shape shape;
  std::int64_t itemsize = 4;  // bytes of an element
  redistribution::Placement source;
  redistribution::Placement target;

  friend bool operator==(const RedistributionCase&, const RedistributionCase&) = default;
};

// DTensor's cost model: collectives along one axis at a time; local steps cost nothing.
struct DTensorModel {
  std::int64_t devices_per_host = 8;
};

// Rings on the links that the user describes (TopologyCosts).
struct RingModel {
  std::vector<redistribution::AxisLink> links;  // one per axis
  // Speed of a kernel that copies a tensor, in 10^9 bytes per second; infinity makes copies free.
  double copy_gb_per_s = std::numeric_limits<double>::infinity();
  // Allows collectives over several axes, and permutes, in which each device sends its part to
  // another.
  bool groups = false;
};

struct RedistributionOptions {
  std::variant<DTensorModel, RingModel> model;
  // Most bytes that a device may hold during a step, input and output together.
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::uint32_t> collectives;  // most communicating steps
  std::stop_token stop;
};

struct PlannedRedistribution {
  redistribution::Path path;    // with costs in microseconds
  std::int64_t peak_bytes = 0;  // of `path.peak_elements`
};

// Finds the cheapest path of moves from source to target. Errors: kInvalidInput at "/mesh",
// "/shape", "/itemsize", "/source/<axis>", "/target/<axis>", "/devices_per_host", "/links",
// "/copy_gb_per_s" or "/memory_bytes"; kInfeasible if no path keeps the limits; kStopped. Thread
// safety: may be called from any number of threads at once.
Result<PlannedRedistribution> plan_redistribution(const RedistributionCase& request,
                                                  const RedistributionOptions& options);

// Returns the Pareto front of time and memory, in ascending order of cost and descending order of
// peak memory. The front is not empty. Runs one search per path. Errors and thread safety: as
// plan_redistribution().
Result<std::vector<PlannedRedistribution>> plan_redistribution_front(
    const RedistributionCase& request, const RedistributionOptions& options);

}  // namespace shardwright
