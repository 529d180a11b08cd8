// The state of TorchRec's greedy partitioner: the devices while they are being filled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/kinds/kinds.h"
#include "core/embedding/problem/topology.h"
#include "search/embedding/compat/placement/device_tree.h"
#include "search/embedding/compat/placement/group_order.h"
#include "search/embedding/compat/placement/host_loads.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// A device: the memory that is left and the time of its shards. One cache line.
struct alignas(64) DeviceState {
  Storage left;
  double perf_ms[5] = {};  // components as in RunCost

  bool fits(const RunCost& cost) const { return cost.storage.fits_in(left); }
  // Adds component by component.
  void add(const RunCost& cost) {
    left -= cost.storage;
    for (int i = 0; i < 5; ++i)
      perf_ms[i] += cost.perf_ms[i];
  }
  // Sums the components as Perf::total does.
  double total_ms() const { return perf_ms[0] + perf_ms[2] + perf_ms[1] + perf_ms[3] + perf_ms[4]; }
};

// Device states, ranks of placed shards, and the four ways of placing. Times are added by component
// in placement order, as TorchRec does. After a failed call the state of the devices is undefined.
// Devices are numbered by (rank in physical host, host): the order in which TorchRec breaks
// ties.
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py.
// Thread safety: none; one per worker. Allocates in the constructor only.
class Placement {
 public:
  Placement(const OptionPool& pool, const Topology& available);

  // Empties all devices. If `hbm_per_device` is not zero, it replaces the HBM of each.
  void reset(std::int64_t hbm_per_device = 0);

  // Places shard i of every uniform option of the proposal on rank i, in proposal order.
  bool place_uniform(std::span<const OptionId> proposal);
  // Places each shard on the device of least (time, rank in host, host) on which it fits, and of
  // those that have no other shard of the option if it wants distinct ranks.
  bool place_on_devices(const OptionRow& row);
  // Does the same for plain groups, one after the other. Returns how many fitted.
  std::size_t place_plain(std::span<const GroupOrder::Group> groups);
  // Does the same on two placements, with equally many groups each. It alternates between them
  // shard by shard, so that neither chain of dependent steps waits for the other.
  static std::pair<std::size_t, std::size_t> place_plain_together(
      Placement& a, std::span<const GroupOrder::Group> groups_a, Placement& b,
      std::span<const GroupOrder::Group> groups_b);
  // Places all options within one host: the first one in order of summed time on which they fit.
  // `storage` is what the group needs in all.
  bool place_on_host(std::span<const OptionId> group, Storage storage);
  // Places a grid: row-wise within each of several hosts.
  bool place_on_hosts(const OptionRow& row);
  // Places shard i on ranks[i]. Returns false if a rank does not exist or has no room. Does not
  // check where the sharding type wants the shards. Precondition: the option is not uniform.
  bool place_on_ranks(const OptionRow& row, std::span<const Rank> ranks);

  // Ranks of the shards of an option that was placed and is not uniform.
  std::span<const Rank> ranks(const OptionRow& row) const {
    return {ranks_.data() + row.rank_slot, row.num_shards};
  }
  // The ranks of all options that are not uniform, by rank slot: to save and restore a placement.
  std::span<const Rank> all_ranks() const { return ranks_; }
  void restore_ranks(std::span<const Rank> saved) {
    std::copy(saved.begin(), saved.end(), ranks_.begin());
  }

  const DeviceState& device_of(Rank rank) const { return devices_[device_of_rank_[rank]]; }
  std::uint32_t num_devices() const { return static_cast<std::uint32_t>(devices_.size()); }
  // Time of the busiest device, summed in placement order.
  double busiest_ms() const {
    double busiest = 0;
    for (const double total : totals_)
      busiest = std::max(busiest, total);
    return busiest;
  }
  const OptionPool& pool() const { return *pool_; }

 private:
  static constexpr std::uint32_t kNoDevice = ~std::uint32_t{0};
  // The rows of shorter proposals stay in the cache.
  static constexpr std::size_t kLongProposal = 1024;
  static constexpr std::size_t kBlock = 16;

  // A device that was too full for a shard when it was its turn, with the HBM that it had left.
  struct Full {
    Bytes hbm;
    std::uint32_t device = 0;
    bool operator<(const Full& other) const { return hbm < other.hbm; }
  };

  // Device i of a host, in the order of ranks. A host is what host-wise options fill.
  std::uint32_t device(std::uint32_t host, std::uint32_t i) const {
    return device_of_rank_[host * local_ + i];
  }

  void add(std::uint32_t device, const RunCost& cost) {
    devices_[device].add(cost);
    totals_[device] = devices_[device].total_ms();
  }
  void restore(std::uint32_t device, const DeviceState& before) {
    devices_[device] = before;
    totals_[device] = before.total_ms();
  }
  void fetch_after(std::span<const OptionId> proposal, std::size_t begin) const;
  void add_uniform_storage(const OptionRow& row);
  bool settle_uniform_storage();
  bool place_unequal_uniform(std::span<const OptionId> proposal);
  void build_tree();
  void readmit(const RunCost& cost);
  bool place_group(const GroupOrder::Group& group);
  bool place_run(const RunCost& cost, std::uint32_t count, Rank* ranks);
  bool place_on_distinct_devices(const OptionRow& row);
  std::uint32_t next_fitting(const RunCost& cost);
  bool try_host(std::span<const OptionId> group, std::uint32_t host);
  bool place_columns_on_host(const OptionRow& row, std::uint32_t host);
  bool place_rows(const OptionRow& row, std::span<const std::uint32_t> devices);
  bool try_hosts(const OptionRow& row, std::uint32_t begin, std::uint32_t count);
  bool place_rows_on_host(const OptionRow& row, std::uint32_t host);
  void refresh_hosts();
  void sort_hosts();
  void host_changed(std::uint32_t host);
  void device_on_no_host_changed();

  const OptionPool* pool_;
  std::vector<Storage> available_;  // by device
  std::uint32_t local_;
  std::uint32_t hosts_;
  std::vector<std::uint32_t> device_of_rank_;
  std::vector<Rank> rank_of_device_;
  std::vector<std::uint32_t> host_of_device_;  // the number of hosts if it is on none
  std::vector<DeviceState> devices_;
  std::vector<double> totals_;  // by device: its total_ms()
  std::vector<Rank> ranks_;

  DeviceTree tree_;
  bool tree_valid_ = false;
  std::vector<Full> full_;     // heap: the most HBM left first
  std::vector<char> is_full_;  // by device

  HostLoads host_loads_;
  bool asks_for_hosts_ = false;               // some option is placed by host
  std::vector<std::uint32_t> changed_hosts_;  // whose devices the tree does not reflect yet
  std::vector<DeviceState> saved_;            // the devices before an attempt, to undo it
  std::vector<HostKey> sorted_hosts_;
  std::vector<std::uint32_t> window_;

  // Storage of uniform options as differences between neighbouring ranks.
  std::vector<Storage> delta_;
};

}  // namespace shardwright::embedding
