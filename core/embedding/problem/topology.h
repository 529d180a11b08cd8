// The machine on which tables are placed: ranks, hosts, memory, bandwidths and layout.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/status.h"

namespace shardwright::embedding {

class MachineModel;

// Two-dimensional parallelism: the ranks form sharding groups of equal size. Every group holds all
// tables with the same sharding. Every `sync_interval` steps, the replicas of a shard are averaged.
// Source: DMPCollection, torchrec/distributed/model_parallel.py of release 1.9.2.
struct ShardingGroupSpec {
  // Ranks per group. With several sizes, best mode chooses; empty = all that layouts() allows.
  std::vector<std::int64_t> sizes;
  std::int64_t sync_interval = 1;  // training steps between two averages
  bool include_optimizer_state = true;
  // If true, a group has consecutive ranks, and replicas are on distant ranks. If false, the
  // replicas of a shard are on consecutive ranks.
  bool use_inter_host_allreduce = false;
};

// The sizes of sharding groups and pods.
struct MachineLayout {
  std::int64_t group_size = 0;  // ranks per sharding group
  std::int64_t pod_size = 1;    // hosts per pod

  friend constexpr auto operator<=>(const MachineLayout&, const MachineLayout&) = default;
};

// A topology, not yet checked. Source of the defaults: torchrec/distributed/planner/constants.py.
struct TopologySpec {
  std::int64_t world_size = 0;  // ranks
  // Ranks per host; 0 = world_size. Ranks that do not fill a host belong to no host.
  std::int64_t local_world_size = 0;
  ComputeDevice compute_device = ComputeDevice::kCuda;
  std::optional<GpuModel> gpu;                     // that memory and bandwidths began from
  std::optional<std::int64_t> hbm_cap_bytes;       // per rank; absent = 32 GiB
  std::optional<std::int64_t> ddr_cap_bytes;       // per rank; absent = 128 GiB
  std::vector<std::int64_t> custom_hbm_cap_bytes;  // one per rank; empty = uniform
  std::vector<std::int64_t> custom_ddr_cap_bytes;
  // Per rank. If both members are absent, SSD is not counted: tables on SSD use 0 bytes of SSD.
  std::optional<std::int64_t> ssd_cap_bytes;
  std::vector<std::int64_t> custom_ssd_cap_bytes;
  // Bandwidths in bytes per millisecond.
  double intra_host_bw = 600.0 * 1024 * 1024 * 1024 / 1000;
  double inter_host_bw = 12.5 * 1024 * 1024 * 1024 / 1000;
  double hbm_mem_bw = 897.0 * 1024 * 1024 * 1024 / 1000;
  double ddr_mem_bw = 51.0 * 1024 * 1024 * 1024 / 1000;
  double hbm_to_ddr_mem_bw = 32.0 * 1024 * 1024 * 1024 / 1000;
  // Used only if SSD is counted. Source of the default: SSD_MEM_BW, constants.py of TorchRec 1.9.2.
  double ssd_mem_bw = 100.0 * 1024 * 1024 / 1000;
  // Measured costs, which take the place of TorchRec's where there are any; may be null.
  std::shared_ptr<const MachineModel> machine;
  double bwd_compute_multiplier = 2;
  double weighted_feature_bwd_compute_multiplier = 1;
  double uneven_sharding_perf_multiplier = 1;
  std::optional<ShardingGroupSpec> groups;  // absent = one group of all ranks
  // Hosts per pod. The links within a pod are as fast as within a host, and host-wise options fill
  // pods. With several sizes, best mode chooses; empty = 1. Source: pod_size of Topology,
  // torchrec/distributed/planner/types.py of release 1.9.2.
  std::vector<std::int64_t> pod_sizes;

  bool counts_ssd() const { return ssd_cap_bytes || !custom_ssd_cap_bytes.empty(); }
  void set_cap_bytes(MemoryTier tier, std::int64_t bytes);
  std::vector<std::int64_t>& custom_cap_bytes(MemoryTier tier);
  const std::vector<std::int64_t>& custom_cap_bytes(MemoryTier tier) const;
};

// A checked TopologySpec with the memory of every rank. Immutable. Ranks are numbered from 0 to
// world_size - 1. Host h has the ranks [h L, (h + 1) L), where L is local_world_size. Ranks after
// the last host are on no host: only host-wise options do not use them. There may be no host.
// Source: _get_host_level_devices, torchrec/distributed/planner/partitioners.py of release 1.9.2.
//
// With sharding groups of one size, the ranks of a Topology are the ranks of one group, and lists
// by rank have this size. With pods of one size, a host stands for a pod. If the layout is still to
// be chosen, ranks and hosts are those of the whole machine.
// Thread safety: a value.
class Topology {
 public:
  // Errors: kInvalidInput; `where` is a JSON pointer relative to the topology.
  static Result<Topology> make(TopologySpec spec);

  const TopologySpec& spec() const { return spec_; }
  ComputeDevice compute_device() const { return spec_.compute_device; }
  std::uint32_t world_size() const { return static_cast<std::uint32_t>(storage_.size()); }
  std::uint32_t local_world_size() const { return local_world_size_; }
  std::uint32_t num_hosts() const { return world_size() / local_world_size(); }
  // The ranks below this number are on a host, all other ranks are on none.
  std::uint32_t num_hosted_ranks() const { return num_hosts() * local_world_size(); }
  bool is_one_host() const { return world_size() == local_world_size(); }
  // Returns true if some ranks are on no host.
  bool has_uneven_hosts() const { return num_hosted_ranks() != world_size(); }
  // Ranks per physical host. Equals local_world_size() without pods and sharding groups.
  std::uint32_t ranks_per_physical_host() const { return ranks_per_physical_host_; }
  // The number of sharding groups, each of which holds a replica of every shard.
  std::uint32_t num_replicas() const {
    return static_cast<std::uint32_t>(spec_.world_size) / world_size();
  }
  std::int64_t pod_size() const {
    return spec_.pod_sizes.size() == 1 ? spec_.pod_sizes.front() : 1;
  }
  // The number of ranks of the machine that share the fast links.
  std::int64_t linked_ranks() const { return spec_.local_world_size * pod_size(); }
  // The layouts from which best mode chooses, ascending; empty if the layout is fixed.
  std::vector<MachineLayout> layouts() const;
  // Returns the ms per training step that one byte of a shard costs for averaging its replicas: the
  // time of a ring all-reduce divided by the sync interval. The ring passes at most `bandwidth`
  // bytes per ms. It uses the fast links if all replicas are within `linked` consecutive ranks.
  double sync_ms_per_byte(double bandwidth, std::int64_t linked) const;
  bool has_hbm() const { return spec_.compute_device != ComputeDevice::kCpu; }
  // Returns true if the spec states the SSD of the ranks, even as 0 bytes.
  bool counts_ssd() const { return spec_.counts_ssd(); }
  // Returns true if some rank has more than 0 bytes of SSD.
  bool has_ssd() const { return has_ssd_; }

  // The tiers HBM and DDR, and SSD if some rank has it.
  std::span<const MemoryTier> tiers() const {
    return std::span(kMemoryTiers).first(has_ssd_ ? kNumMemoryTiers : kNumMemoryTiers - 1);
  }

  // Memory by rank; size world_size.
  const std::vector<Storage>& storage() const { return storage_; }
  // Returns true if every rank has the same memory.
  bool uniform() const { return uniform_; }
  Storage total_storage() const;

  // Sizes by rank, to which the rows of a rank are proportional; empty if rows are split equally.
  const std::vector<std::int64_t>& device_memory_sizes() const {
    return has_hbm() ? spec_.custom_hbm_cap_bytes : spec_.custom_ddr_cap_bytes;
  }

  // Returns this topology with `storage` (one entry per rank) as its memory. Amounts may be
  // negative, because a reservation may exceed the memory of a rank.
  Topology with_storage(std::vector<Storage> storage) const;

 private:
  Topology(TopologySpec spec, std::uint32_t local_world_size, std::vector<Storage> storage);

  TopologySpec spec_;
  std::uint32_t local_world_size_;
  std::uint32_t ranks_per_physical_host_;
  std::vector<Storage> storage_;
  bool uniform_ = true;
  bool has_ssd_ = false;
};

// Returns `spec` with the group size and pod size of `layout`, if `spec` has groups or pods.
TopologySpec with_layout(TopologySpec spec, const MachineLayout& layout);

}  // namespace shardwright::embedding
