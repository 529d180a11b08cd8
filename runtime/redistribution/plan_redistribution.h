// The public entry for the redistribution of one tensor: the cheapest moves from one placement to
// another.
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

// One tensor on a mesh, the placement that it has and the one that is wanted.
struct RedistributionCase {
  redistribution::MeshShape mesh;
  redistribution::Shape shape;
  std::int64_t itemsize = 4;  // bytes of an element
  redistribution::Placement source;
  redistribution::Placement target;

  friend bool operator==(const RedistributionCase&, const RedistributionCase&) = default;
};

// DTensor's own cost model: collectives along one axis at a time; local steps are free.
struct DTensorModel {
  std::int64_t devices_per_host = 8;
};

// Rings on the links of the user's machine (TopologyCosts).
struct RingModel {
  std::vector<redistribution::AxisLink> links;  // one per axis
  // Speed of a kernel that reads and writes a tensor; infinite = copies are free. GB = 10^9 bytes.
  double copy_gb_per_s = std::numeric_limits<double>::infinity();
  // Allows collectives over several axes, and permutes (each device sends its part to one other).
  bool groups = false;
};

struct RedistributionOptions {
  std::variant<DTensorModel, RingModel> model;
  // Most bytes that a device may hold during a step, input and output together.
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::uint32_t> collectives;  // most steps that communicate
  std::stop_token stop;
};

struct PlannedRedistribution {
  redistribution::Path path;    // found; costs in microseconds
  std::int64_t peak_bytes = 0;  // of the path's peak_elements
};

// Errors: kInvalidInput at "/mesh", "/shape", "/itemsize", "/source/<axis>", "/target/<axis>",
// "/devices_per_host", "/links", "/copy_gb_per_s" or "/memory_bytes"; kInfeasible if no moves
// within the limits lead to the target; kStopped. Thread safety: may be called from any number of
// threads at once.
Result<PlannedRedistribution> plan_redistribution(const RedistributionCase& request,
                                                  const RedistributionOptions& options);

// Returns the Pareto front of time and memory, from the cheapest path to the path with the least
// memory. The front is not empty; each path has a higher cost and a lower peak than the path
// before. Runs a search per path. Errors and thread safety: those of plan_redistribution().
Result<std::vector<PlannedRedistribution>> plan_redistribution_front(
    const RedistributionCase& request, const RedistributionOptions& options);

}  // namespace shardwright
