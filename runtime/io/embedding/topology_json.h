// The members of the machine in a problem file: its topology, the one that a workload file
// suggests, what memory is not used, and measured factors.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/problem/memory_limits.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Problem::make checks the ranges of all of them.
void describe(JsonMembers& members, embedding::TopologySpec& topology);
void describe(JsonMembers& members, embedding::Calibration& calibration);

// The first entry of a workload's `meta.topologies`. Used if the file has no `topology`.
struct TopologySuggestion {
  std::int64_t world_size = 0;
  std::int64_t local_world_size = 0;
  std::optional<double> hbm_gib;
  std::optional<double> ddr_gib;
  std::optional<double> ssd_gib;
  std::optional<std::int64_t> batch_per_gpu;
  std::optional<std::int64_t> global_batch;
};
void describe(JsonMembers& members, TopologySuggestion& suggestion);

// The member `meta`, of which only the first topology is read.
void describe_meta(JsonMembers& members, std::optional<TopologySuggestion>& suggestion);

// Copies the numbers of ranks and the memory to `topology`. Errors: kInvalidInput if the memory of
// a rank is not above 0 or is above 8 PiB.
Status apply_suggestion(const TopologySuggestion& suggestion, embedding::TopologySpec& topology);

// The members `reserved_memory` and `memory_margin`.
void describe_memory(JsonMembers& members, embedding::MemoryLimits& limits);

}  // namespace shardwright
