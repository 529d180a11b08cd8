// The machine that tables are sharded over: ranks, hosts, memory and bandwidths.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/status.h"

namespace shardwright::embedding {

// A topology, not yet checked. Source of the defaults: torchrec/distributed/planner/constants.py.
struct TopologySpec {
  std::int64_t world_size = 0;        // ranks
  std::int64_t local_world_size = 0;  // ranks per host; 0 = world_size
  ComputeDevice compute_device = ComputeDevice::kCuda;
  std::int64_t hbm_cap_bytes = 0;  // per rank; 0 = 32 GiB
  std::int64_t ddr_cap_bytes = 0;  // per rank; 0 = 128 GiB
  std::vector<std::int64_t> custom_hbm_cap_bytes;  // one per rank; empty = uniform
  std::vector<std::int64_t> custom_ddr_cap_bytes;
  // Bandwidths in bytes per millisecond.
  double intra_host_bw = 600.0 * 1024 * 1024 * 1024 / 1000;
  double inter_host_bw = 12.5 * 1024 * 1024 * 1024 / 1000;
  double hbm_mem_bw = 897.0 * 1024 * 1024 * 1024 / 1000;
  double ddr_mem_bw = 51.0 * 1024 * 1024 * 1024 / 1000;
  double hbm_to_ddr_mem_bw = 32.0 * 1024 * 1024 * 1024 / 1000;
  double bwd_compute_multiplier = 2;
  double weighted_feature_bwd_compute_multiplier = 1;
  double uneven_sharding_perf_multiplier = 1;
};

// A checked TopologySpec with the memory of every rank. Immutable. Ranks are 0 to world_size - 1;
// host h has the ranks [h L, (h + 1) L), where L is local_world_size.
// Thread safety: a value.
class Topology {
 public:
  // Errors: kInvalidInput; `where` is a JSON pointer relative to the topology.
  static Result<Topology> make(TopologySpec spec);

  const TopologySpec& spec() const { return spec_; }
  ComputeDevice compute_device() const { return spec_.compute_device; }
  std::uint32_t world_size() const { return static_cast<std::uint32_t>(spec_.world_size); }
  std::uint32_t local_world_size() const {
    return static_cast<std::uint32_t>(spec_.local_world_size);
  }
  std::uint32_t num_hosts() const { return world_size() / local_world_size(); }
  bool has_hbm() const { return spec_.compute_device != ComputeDevice::kCpu; }

  // Memory by rank; size world_size.
  const std::vector<Storage>& storage() const { return storage_; }
  // Returns true if every rank has the same memory.
  bool uniform() const { return uniform_; }
  Storage total_storage() const;

  // Sizes by rank, in proportion to which rows are split; empty if all ranks get equal parts.
  const std::vector<std::int64_t>& device_memory_sizes() const {
    return has_hbm() ? spec_.custom_hbm_cap_bytes : spec_.custom_ddr_cap_bytes;
  }

  // Returns this topology with other memory (size world_size). Sizes may be negative, since a
  // reservation may exceed what a rank has.
  Topology with_storage(std::vector<Storage> storage) const;

 private:
  Topology(TopologySpec spec, std::vector<Storage> storage);

  TopologySpec spec_;
  std::vector<Storage> storage_;
  bool uniform_ = true;
};

}  // namespace shardwright::embedding
