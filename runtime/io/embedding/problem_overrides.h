// Values of a request that replace values of the problem file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Thread safety: a value.
struct ProblemOverrides {
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_host;
  std::shared_ptr<const embedding::MachineModel> machine;  // may be null; not in plan files
  std::optional<embedding::GpuModel> gpu;                  // the members below take precedence
  std::optional<std::int64_t> hbm_bytes;  // per rank; also replaces a list of sizes by rank
  std::optional<std::int64_t> ddr_bytes;
  std::optional<std::int64_t> ssd_bytes;
  std::optional<double> hbm_mem_bw;  // bytes per millisecond, as the next two
  std::optional<double> intra_host_bw;
  std::optional<double> inter_host_bw;
  std::optional<std::int64_t> batch_size;  // samples per rank
  std::optional<double> zipf;              // skew of lookups
  std::optional<embedding::ComputeDevice> device;
  std::optional<embedding::TorchRecRelease> torchrec;
  std::optional<std::vector<std::int64_t>> group_sizes;  // sizes of sharding groups; empty = any
  std::optional<std::int64_t> sync_interval;             // steps between syncs of sharding groups
  std::optional<std::vector<std::int64_t>> pod_sizes;    // in hosts

  // Returns the name of the first member that is set, such as "ranks"; empty if none is set.
  std::string_view first_given() const;

  // Corrects the place of an error about the problem: if a member of this object set the wrong
  // value, the place becomes the member's name, since the file does not have the value.
  Error locate(Error error) const;

  // Copies from `other` the members that have no value here. Returns the copied members
  // with their values, as "{ranks} 16 {hbm} 80GiB", where a caller puts its names for members in
  // place of the braces; empty if there are none.
  std::string take_missing(const ProblemOverrides& other);

  // Sets the values in `topology`. Errors: kInvalidInput at a member for contradicting values.
  Status apply(embedding::TopologySpec& topology) const;
};

// Describes the overrides in a plan file.
void describe(JsonMembers& members, ProblemOverrides& overrides);

}  // namespace shardwright
