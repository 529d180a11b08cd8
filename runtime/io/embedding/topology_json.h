// Reads the topology of a problem file, or the one that a workload file suggests.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/problem/memory_limits.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Reads the value of `topology`. Problem::make checks the ranges.
Status read_topology(JsonValue value, embedding::TopologySpec& topology);

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

// Reads the first topology of `meta`. The rest of `meta` is for human readers.
Status read_suggestion(JsonValue meta, std::optional<TopologySuggestion>& suggestion);

// Copies the numbers of ranks and the memory to `topology`. Errors: kInvalidInput if the memory of
// a rank is not above 0 or is above 8 PiB.
Status apply_suggestion(const TopologySuggestion& suggestion, embedding::TopologySpec& topology);

// Reads the value of `reserved_memory`.
Status read_reserved_memory(JsonValue value, embedding::MemoryLimits& limits);

// Reads the value of `memory_margin`: one margin for all tiers, or an object with one per tier. A
// number below 1 is a fraction, a number from 1024 on is whole bytes. Numbers in between are
// refused.
Status read_memory_margin(JsonValue value, embedding::MemoryLimits& limits);

// Reads the value of `calibration`.
Status read_calibration(JsonValue value, embedding::Calibration& calibration);

}  // namespace shardwright
