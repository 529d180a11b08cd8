// The public entry for resharding one tensor: the operators that each rank inserts, and their cost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/program/reshard_plan.h"
#include "core/program/simulate.h"
#include "core/status.h"
#include "search/program/best_planner.h"
#include "search/program/reshard_program.h"
#include "search/program/schedule.h"

namespace shardwright {

// A tensor with its present placement and the placement that its consumer needs.
struct ReshardCase {
  program::Shape shape;
  program::DataType type = program::DataType::kFloat32;
  program::DistAttr source;
  program::DistAttr target;
};

// The operators inserted into the program of one rank.
struct RankReshard {
  program::Rank rank = -1;
  // For each operator its type and the shape of its first output; a send has no output.
  std::vector<std::pair<std::string, std::optional<program::Shape>>> inserted;
  program::Shape result;  // shape of the tensor that the consumer reads
  program::ReshardCounters counters;
};

struct TensorReshard {
  program::ReshardPlan plan;
  double us = 0;  // time of the slowest rank in the cost model
  // Set if both placements are on one mesh and moves along its axes suffice. Compat mode sets it
  // only if a placement is partial or `mesh_steps` is true.
  std::optional<std::vector<redistribution::Move>> mesh_moves;
  std::vector<RankReshard> ranks;  // the ranks of both meshes, ascending; not empty
  // The plan executed on arrays. If the arrays are too large, compat mode uses smaller arrays that
  // are cut in the same way. Absent if these are too large, too.
  std::optional<program::Simulation> simulation;
};

struct TensorReshardOptions {
  bool compat = false;
  bool mesh_steps = false;  // plan along mesh axes in compat mode even if nothing is partial
  program::SyncMode sync = program::SyncMode::kPerCommit;
  program::Cluster cluster;
  // Most elements x ranks of a tensor that is simulated.
  std::int64_t largest_simulation = program::kLargestSimulation;
  std::stop_token stop;  // ignored once the simulation has begun
};

// Plans one resharding, inserts its operators into every rank's program and simulates it.
// Errors: kInvalidInput if a placement does not fit the shape or its mesh; kUnsupported for meshes
// of more than 4096 ranks; those of plan_best(), in compat mode those of plan_compat(); kStopped.
// Thread safety: may be called from any number of threads at once.
Result<TensorReshard> reshard_tensor(const ReshardCase& request,
                                     const TensorReshardOptions& options);

}  // namespace shardwright
