// The devices while a partitioner fills them: one worker's scratch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/kinds.h"
#include "core/embedding/topology.h"
#include "search/embedding/option_pool.h"
#include "search/embedding/partitioners/device_tree.h"

namespace shardwright::embedding {

// What a device has left and what it already does: one cache line.
struct alignas(64) DeviceState {
  std::int64_t hbm_bytes = 0;  // left
  std::int64_t ddr_bytes = 0;
  double perf_ms[5] = {};
  double total_ms = 0;

  bool fits(const RunCost& cost) const {
    return cost.hbm_bytes <= hbm_bytes && cost.ddr_bytes <= ddr_bytes;
  }
  // Adds per component, then sums the components as Perf::total does.
  void add(const RunCost& cost) {
    hbm_bytes -= cost.hbm_bytes;
    ddr_bytes -= cost.ddr_bytes;
    for (int i = 0; i < 5; ++i) perf_ms[i] += cost.perf_ms[i];
    total_ms = perf_ms[0] + perf_ms[2] + perf_ms[1] + perf_ms[3] + perf_ms[4];
  }
};

// Device states, ranks of placed shards, and the three ways of placing. Placement by component sums
// in placement order, as the peer does. A failed call leaves the devices in no defined state.
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py.
// Thread safety: none; one per worker. Allocates in the constructor and reset only.
class Placement {
 public:
  Placement(const OptionPool& pool, const Topology& available);

  // Empties all devices; `hbm_per_device` other than zero replaces the HBM of each.
  void reset(std::int64_t hbm_per_device = 0);

  // Shard i of every uniform option of the proposal on rank i, in proposal order.
  bool place_uniform(std::span<const OptionId> proposal);
  // Each shard on the fitting device of least (time, rank in host, rank).
  bool place_on_devices(OptionId id);
  // All options within one host: the first, by summed time, that takes them.
  bool place_on_host(std::span<const OptionId> group, std::int64_t hbm_bytes,
                     std::int64_t ddr_bytes);
  // A grid: row-wise within each of several hosts.
  bool place_on_hosts(OptionId id);

  // Ranks of the shards of a non-uniform option that was placed.
  std::span<const Rank> ranks(const OptionRow& row) const {
    return {ranks_.data() + rank_offset_[row.table], row.num_shards};
  }
  std::span<Rank> ranks(const OptionRow& row) {
    return {ranks_.data() + rank_offset_[row.table], row.num_shards};
  }
  std::span<const Rank> all_ranks() const { return ranks_; }
  void restore_ranks(std::span<const Rank> saved) {
    std::copy(saved.begin(), saved.end(), ranks_.begin());
  }
  std::span<const DeviceState> devices() const { return devices_; }
  const Topology& available() const { return available_; }
  const OptionPool& pool() const { return *pool_; }

 private:
  struct HostKey {
    double perf_ms = 0;
    std::uint32_t host = 0;
  };

  void add_uniform_storage(const OptionRow& row);
  bool settle_uniform_storage();
  bool place_unequal_uniform(std::span<const OptionId> proposal);
  // Places the shards of `row` by the tournament `tree`; leaf l is device leaf_rank(l).
  template <class LeafRank>
  bool place_by_tree(DeviceTree& tree, const OptionRow& row, const LeafRank& leaf_rank);
  bool place_rows(const OptionRow& row, std::span<const std::uint32_t> ranks);
  bool try_host(std::span<const OptionId> group, std::uint32_t host);
  bool try_hosts(const OptionRow& row, std::span<const HostKey> hosts, std::uint32_t begin,
                 std::uint32_t count);
  void touch_host(std::uint32_t host) { host_known_[host] = false; }
  double host_perf(std::uint32_t host);
  // The host that follows `after` in order of (summed time, index); false at the end.
  bool next_host(HostKey& after);
  void ensure_tree();

  const OptionPool* pool_;
  Topology available_;
  std::uint32_t local_;
  std::uint32_t hosts_;
  std::vector<DeviceState> devices_;
  std::vector<std::size_t> rank_offset_;  // by table
  std::vector<Rank> ranks_;

  DeviceTree tree_;           // over all devices; leaf = rank in host, then host
  bool tree_valid_ = false;
  DeviceTree host_tree_;
  std::vector<std::uint32_t> out_;  // leaves that did not fit the current shard
  std::vector<double> host_perf_;
  std::vector<char> host_known_;
  std::vector<DeviceState> saved_;  // of one host, for undoing
  std::vector<HostKey> sorted_hosts_;
  std::vector<std::uint32_t> window_;

  // Storage of uniform options as differences between neighbouring ranks.
  std::vector<std::int64_t> hbm_delta_, ddr_delta_;
};

}  // namespace shardwright::embedding
