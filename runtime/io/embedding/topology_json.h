// The members of a problem file about the machine: topology, a workload's suggested topology,
// unused memory, measured factors.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/problem/memory_limits.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Problem::make checks the ranges.
void describe(JsonMembers& members, embedding::TopologySpec& topology);
void describe(JsonMembers& members, embedding::Calibration& calibration);

// The first entry of `meta.topologies` in a workload. Used if the file has no `topology`.
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

// Describes `meta`, of which only the first topology is read.
void describe_meta(JsonMembers& members, std::optional<TopologySuggestion>& suggestion);

// Copies numbers of ranks and memory sizes to `topology`. Errors: kInvalidInput if a size is not
// above 0 or is above 8 PiB.
Status apply_suggestion(const TopologySuggestion& suggestion, embedding::TopologySpec& topology);

// Describes `reserved_memory` and `memory_margin`.
void describe_memory(JsonMembers& members, embedding::MemoryLimits& limits);

}  // namespace shardwright
