// The state of the ranks while the greedy partitioner places a proposal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// A tournament tree that finds the least loaded device in O(1) and takes a change in O(log
// devices). Leaves hold loads in ms, at least 0. The winner is the leaf of least load, the smaller
// index on ties. A leaf that is out takes no part. Loads are compared as bit patterns, which order
// like the doubles if these are not negative. Masks select winners, because branches here are
// mispredicted too often.
// Thread safety: none; one per worker.
class DeviceTree {
 public:
  explicit DeviceTree(std::uint32_t leaves)
      : size_(std::bit_ceil(leaves)), load_(size_, kOut), winner_(2 * std::size_t{size_}, 0) {
    for (std::uint32_t leaf = 0; leaf < size_; ++leaf)
      winner_[size_ + leaf] = leaf;
    rebuild();
  }

  // Sets a leaf without replaying its matches; rebuild() must follow.
  void set(std::uint32_t leaf, double load_ms) {
    load_[leaf] = std::bit_cast<std::uint64_t>(load_ms);
  }
  void rebuild() {
    for (std::uint32_t node = size_ - 1; node > 0; --node) {
      const std::uint32_t children = 2 * node;
      const std::uint32_t left = winner_[children];
      const std::uint32_t right = winner_[children + 1];
      winner_[node] = load_[right] < load_[left] ? right : left;
    }
  }

  std::uint32_t winner() const { return winner_[1]; }
  // Returns true if every leaf is out.
  bool empty() const { return load_[winner_[1]] == kOut; }

  // Set or take out a leaf. Both return the winner.
  std::uint32_t update(std::uint32_t leaf, double load_ms) {
    return replay(leaf, std::bit_cast<std::uint64_t>(load_ms));
  }
  std::uint32_t take_out(std::uint32_t leaf) { return replay(leaf, kOut); }
  bool is_out(std::uint32_t leaf) const { return load_[leaf] == kOut; }

 private:
  static constexpr std::uint64_t kOut =
      std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());

  std::uint32_t replay(std::uint32_t leaf, std::uint64_t load) {
    std::uint64_t* const loads = load_.data();
    std::uint32_t* const winners = winner_.data();
    loads[leaf] = load;
    std::uint32_t best = leaf;
    for (std::uint32_t node = leaf + size_; node > 1;) {
      const std::uint32_t rival = winners[node ^ 1];
      const std::uint64_t rival_load = loads[rival];
      // A right child loses ties.
      const bool loses = rival_load < load + (node & 1);
      best ^= (best ^ rival) & (std::uint32_t{0} - static_cast<std::uint32_t>(loses));
      load = std::min(load, rival_load);
      node >>= 1;
      winners[node] = best;
    }
    return best;
  }

  std::uint32_t size_;
  std::vector<std::uint64_t> load_;    // by leaf
  std::vector<std::uint32_t> winner_;  // by node: root 1, children of n: 2n and 2n + 1
};

struct HostKey {
  double perf_ms = 0;
  std::uint32_t host = 0;

  friend bool operator<(const HostKey& a, const HostKey& b) {
    return a.perf_ms != b.perf_ms ? a.perf_ms < b.perf_ms : a.host < b.host;
  }
};

// The summed time of every host, in ms. Placing on a device marks its host. refresh() sums the
// devices of marked hosts from zero, in TorchRec's order.
// Thread safety: none; one per worker. Allocates in the constructor only.
class HostLoads {
 public:
  explicit HostLoads(std::uint32_t hosts) : tree_(hosts), perf_(hosts, 0.0), known_(hosts + 1, 0) {
    touched_.reserve(hosts);
    reset();
  }

  // Marks all hosts.
  void reset() {
    touched_.clear();
    for (std::uint32_t host = 0; host < perf_.size(); ++host) {
      known_[host] = 0;
      touched_.push_back(host);
    }
  }
  // Marks a host. For ranks on no host, `host` is the number of hosts.
  void touch(std::uint32_t host) {
    if (known_[host] == 0) return;
    known_[host] = 0;
    touched_.push_back(host);
  }

  // Updates the sums of marked hosts: `sum(host)` returns the sum of the host's devices.
  template <class Sum>
  void refresh(const Sum& sum) {
    const bool all = touched_.size() == perf_.size();
    for (const std::uint32_t host : touched_) {
      perf_[host] = sum(host);
      known_[host] = 1;
      if (all) {
        tree_.set(host, perf_[host]);
      } else {
        tree_.update(host, perf_[host]);
      }
    }
    if (all) tree_.rebuild();
    touched_.clear();
  }

  // Precondition of both: no host is marked.
  HostKey key(std::uint32_t host) const { return {perf_[host], host}; }
  HostKey first() const { return key(tree_.winner()); }

 private:
  DeviceTree tree_;
  std::vector<double> perf_;
  // 0 if the host is marked. The last entry, for ranks on no host, stays 0. Not char, because a
  // store to a char may alias all other members, which the compiler would have to reload.
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> touched_;
};

// Sorts the groups of a proposal by descending storage or time. A group is all tables of one
// dependency, or a single table. If modules are balanced, smaller modules come first. Equal groups
// keep proposal order. A change of one table takes O(log tables) comparisons and one move of
// entries.
// Source: _group_and_sort_non_uniform_sharding_options,
// torchrec/distributed/planner/partitioners.py.
class GroupOrder {
 public:
  // A group is stored with its first member; next_member() gives further members. A single table
  // with equal shards that may go to any device is plain: placing it reads only its Group.
  struct Group {
    std::uint32_t first_position = 0;
    std::uint32_t num_shards = 0;  // of a plain group, 0 otherwise
    std::uint32_t run = 0;         // the cost of each shard, see OptionPool::cost()
    std::uint32_t rank_slot = 0;   // where the shards' ranks are stored
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  GroupOrder(const OptionPool& pool, PartitionerSpec::SortBy sort_by, bool balance_modules);

  // Sorts the groups of a whole proposal.
  void reset(std::span<const OptionId> proposal);
  // Updates the order after the option at `position` changed. `before`: the old option.
  void change(std::span<const OptionId> proposal, std::uint32_t position, OptionId before);

  // The same for several positions, each once. O(groups + positions log positions).
  void change_many(std::span<const OptionId> proposal, std::span<const std::uint32_t> positions);

  std::span<const Group> groups() const { return groups_; }
  // Returns true if the proposal may have uniform options, which are in no group.
  bool has_uniform() const { return has_dependencies_ || groups_.size() < keys_.size(); }
  // The storage of all members of a group together.
  Storage storage(const Group& group) const { return keys_[group.first_position].storage; }
  // The position of the next member of a group after `position`, or kNone.
  std::uint32_t next_member(std::uint32_t position) const {
    return has_dependencies_ ? next_member_[position] : kNone;
  }

 private:
  struct Key {
    Storage storage;
    double perf_ms = 0;
    std::uint32_t module_size = 0;  // 0 if modules are not balanced
  };

  bool before(const Key& a, std::uint32_t position_a, const Key& b, std::uint32_t position_b) const;
  Key key_of(OptionId id) const;
  Group group_of(std::uint32_t position, OptionId id) const;
  std::size_t find(const Key& key, std::uint32_t position) const;
  void collect(std::span<const OptionId> proposal);
  void sort(std::vector<Group>& groups) const;

  const OptionPool* pool_;
  bool by_perf_;
  bool has_dependencies_ = false;
  std::vector<std::uint32_t> module_size_;    // by table; empty if not balanced
  std::vector<std::uint32_t> dependency_of_;  // by table; kNone = alone
  std::uint32_t num_dependencies_ = 0;
  std::vector<Group> groups_;
  std::vector<Key> keys_;  // by first position
  // Scratch of change_many.
  std::vector<char> is_changed_;  // by position
  std::vector<Group> changed_;
  std::vector<Group> merged_;
  std::vector<std::uint32_t> next_member_;
};

// A device: the memory left and the time of its shards. One cache line.
struct alignas(64) DeviceState {
  Storage left;
  double perf_ms[5] = {};  // components as in RunCost

  bool fits(const RunCost& cost) const { return cost.storage.fits_in(left); }
  void add(const RunCost& cost) {
    left -= cost.storage;
    for (int i = 0; i < 5; ++i)
      perf_ms[i] += cost.perf_ms[i];
  }
  // Sums the components as Perf::total does.
  double total_ms() const { return perf_ms[0] + perf_ms[2] + perf_ms[1] + perf_ms[3] + perf_ms[4]; }
};

// Device states, ranks of placed shards, and the ways to place an option: one per PartitionBy, and
// place_on_ranks(). Times are added by component in placement order, as in TorchRec. After a failed
// call the state of the devices is undefined. Devices are numbered by (rank in physical host,
// host), the order in which TorchRec breaks ties.
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py.
// Thread safety: none; one per worker. Allocates in the constructor only.
class Placement {
 public:
  Placement(const OptionPool& pool, const Topology& available);

  // Empties all devices. If `hbm_per_device` (bytes) is not 0, it replaces the HBM of every device.
  void reset(std::int64_t hbm_per_device = 0);

  // Places shard i of every uniform option of the proposal on rank i, in proposal order.
  bool place_uniform(std::span<const OptionId> proposal);
  // Places each shard on the device of least (time, rank in host, host) on which it fits. If
  // OptionRow::distinct_ranks, a device gets at most one shard of the option.
  bool place_on_devices(const OptionRow& row);
  // Places plain groups like place_on_devices(), one after the other. Returns how many fitted.
  std::size_t place_plain(std::span<const GroupOrder::Group> groups);
  // Places plain groups in two independent placements, equally many in each. Alternates between
  // the placements shard by shard, so that the processor overlaps their dependency chains.
  static std::pair<std::size_t, std::size_t> place_plain_together(
      Placement& a, std::span<const GroupOrder::Group> groups_a, Placement& b,
      std::span<const GroupOrder::Group> groups_b);
  // Places all options of the group on one host: of the hosts where they fit, the host of least
  // summed time. `storage`: of the whole group.
  bool place_on_host(std::span<const OptionId> group, Storage storage);
  // Places a grid: row-wise within each of several hosts.
  bool place_on_hosts(const OptionRow& row);
  // Places shard i on ranks[i]. Returns false if a rank does not exist or has no room. Does not
  // check where the sharding type wants the shards. Precondition: the option is not uniform.
  bool place_on_ranks(const OptionRow& row, std::span<const Rank> ranks);

  // The ranks of an option's shards. Precondition: the option was placed and is not uniform.
  std::span<const Rank> ranks(const OptionRow& row) const {
    return {ranks_.data() + row.rank_slot, row.num_shards};
  }
  // The ranks of all options that are not uniform, by rank slot, to save and restore a placement.
  std::span<const Rank> all_ranks() const { return ranks_; }
  void restore_ranks(std::span<const Rank> saved) {
    std::copy(saved.begin(), saved.end(), ranks_.begin());
  }

  const DeviceState& device_of(Rank rank) const { return devices_[device_of_rank_[rank]]; }
  std::uint32_t num_devices() const { return static_cast<std::uint32_t>(devices_.size()); }
  // Time of the busiest device in ms, summed in placement order.
  double busiest_ms() const {
    double busiest = 0;
    for (const double total : totals_)
      busiest = std::max(busiest, total);
    return busiest;
  }
  const OptionPool& pool() const { return *pool_; }

 private:
  static constexpr std::uint32_t kNoDevice = ~std::uint32_t{0};
  // Longer proposals are prefetched; the rows of shorter proposals stay in the cache.
  static constexpr std::size_t kLongProposal = 1024;
  static constexpr std::size_t kBlock = 16;

  // A device that was taken out of the tree because a shard did not fit, with its HBM at that time.
  struct Full {
    Bytes hbm;
    std::uint32_t device = 0;
    bool operator<(const Full& other) const { return hbm < other.hbm; }
  };

  // Device i of a host, in the order of ranks. Host: the ranks that host-wise options fill.
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
  std::vector<std::uint32_t> host_of_device_;  // the number of hosts if the device is on no host
  std::vector<DeviceState> devices_;
  std::vector<double> totals_;  // by device: its total_ms()
  std::vector<Rank> ranks_;

  DeviceTree tree_;
  bool tree_valid_ = false;
  std::vector<Full> full_;     // heap: the most HBM left first
  std::vector<char> is_full_;  // by device

  HostLoads host_loads_;
  bool asks_for_hosts_ = false;               // some option is placed by host
  std::vector<std::uint32_t> changed_hosts_;  // hosts whose devices the tree does not reflect yet
  std::vector<DeviceState> saved_;            // the devices before an attempt, to undo it
  std::vector<HostKey> sorted_hosts_;
  std::vector<std::uint32_t> window_;

  // Storage of uniform options, as differences between neighbouring ranks.
  std::vector<Storage> delta_;
};

}  // namespace shardwright::embedding
