// Values of a request that replace values of the problem file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"

namespace shardwright {

// Thread safety: a value.
struct ProblemOverrides {
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_host;
  std::optional<std::int64_t> hbm_bytes;  // for every rank; also replaces a list of sizes by rank
  std::optional<std::int64_t> ddr_bytes;
  std::optional<std::int64_t> ssd_bytes;
  std::optional<std::int64_t> batch_size;  // samples per rank
  std::optional<embedding::ComputeDevice> device;
  std::optional<embedding::TorchRecRelease> torchrec;
  std::optional<std::vector<std::int64_t>> group_sizes;  // of sharding groups; empty = any
  std::optional<std::int64_t> sync_interval;             // of sharding groups
  std::optional<std::vector<std::int64_t>> pod_sizes;    // hosts

  // Returns the name of the first member that has a value, such as "ranks"; empty if none has.
  std::string_view first_given() const;

  // Moves the place of an error about the problem with these values: if the request gave the wrong
  // value, the place becomes that member ("ranks"), because the file does not have the value.
  Error locate(Error error) const;

  // Errors: kInvalidInput, at the member, for values that contradict each other.
  Status apply(embedding::TopologySpec& topology) const;
};

}  // namespace shardwright
