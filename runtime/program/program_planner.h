// The public entry of the program domain: reshard one tensor, reshard a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/program/reshard_plan.h"
#include "core/program/simulator/simulate.h"
#include "core/status.h"
#include "search/program/reshard_program.h"
#include "search/program/tensor/placement_state.h"

namespace shardwright {

// One tensor and the two placements to go between.
struct ReshardCase {
  program::Shape shape;
  program::DataType type = program::DataType::kFloat32;
  program::DistAttr source;
  program::DistAttr target;
};

// What a rank's program gains. Shapes are those of the first output; none for a send.
struct RankReshard {
  program::Rank rank = -1;
  std::vector<std::pair<std::string, std::optional<program::Shape>>> inserted;
  program::Shape result;  // of what the consumer then reads
  program::ReshardCounters counters;
};

struct TensorReshard {
  program::ReshardPlan plan;
  double us = 0;  // by the cost model, of the slowest rank
  // Where steps along mesh axes do it all; in compat mode where partial axes or such a request ask.
  std::optional<std::vector<program::MeshStep>> mesh_steps;
  std::vector<RankReshard> ranks;  // of both meshes, ascending
  // Nothing where the arrays would be large.
  std::optional<program::Simulation> simulation;
};

struct TensorReshardOptions {
  bool compat = false;
  bool mesh_steps = false;  // plan on one mesh even where nothing is partial
  program::SyncMode sync = program::SyncMode::kPerCommit;
  program::Cluster cluster;
};

// Errors: kInvalidInput where a placement is none; kUnsupported in compat mode, as plan_compat().
// Thread safety: may be called from any number of threads at once.
Result<TensorReshard> reshard_tensor(const ReshardCase& request,
                                     const TensorReshardOptions& options);

// As program::reshard_program() on `threads` workers (0 = one per core).
// Thread safety: may be called from any number of threads at once.
Result<program::ReshardResult> reshard_program(const program::Program& program,
                                               const program::ReshardOptions& options,
                                               int threads = 0);

}  // namespace shardwright
