#include "search/embedding/compat/placement/placement.h"

#include <algorithm>

namespace shardwright::embedding {

Placement::Placement(const OptionPool& pool, const Topology& available)
    : pool_(&pool),
      local_(available.local_world_size()),
      hosts_(available.num_hosts()),
      device_of_rank_(available.world_size()),
      rank_of_device_(available.world_size()),
      host_of_device_(available.world_size()),
      devices_(available.world_size()),
      totals_(available.world_size(), 0),
      tree_(available.world_size()),
      is_full_(available.world_size(), 0),
      host_loads_(hosts_),
      delta_(available.world_size() + 1) {
  available_.resize(devices_.size());
  const std::uint32_t linked = pool.problem().release().pod_links == PodLinks::kBetweenHosts
                                   ? available.ranks_per_physical_host()
                                   : local_;
  std::uint32_t at = 0;
  for (std::uint32_t in_host = 0; in_host < linked; ++in_host) {
    for (Rank rank = in_host; rank < devices_.size(); rank += linked, ++at) {
      device_of_rank_[rank] = at;
      rank_of_device_[at] = rank;
      host_of_device_[at] = std::min(rank / local_, hosts_);
      available_[at] = available.storage()[rank];
    }
  }
  ranks_.resize(pool.num_rank_slots());
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const PartitionBy by = pool.row(OptionId(i)).partition_by;
    asks_for_hosts_ = asks_for_hosts_ || by == PartitionBy::kHost || by == PartitionBy::kMultiHost;
  }
  const std::size_t most_shards = std::max(local_, pool.most_placed_shards());
  full_.reserve(devices_.size());
  changed_hosts_.reserve(hosts_);
  saved_.reserve(most_shards);
  window_.reserve(most_shards);
  sorted_hosts_.reserve(hosts_);
}

void Placement::reset(std::int64_t hbm_per_device) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i] = DeviceState();
    devices_[i].left = available_[i];
    if (hbm_per_device != 0) devices_[i].left.hbm = Bytes(hbm_per_device);
  }
  std::fill(totals_.begin(), totals_.end(), 0);
  host_loads_.reset();
  changed_hosts_.clear();
  tree_valid_ = false;
}

// Rows and costs of thousands of tables are not in the cache, and a loop over them would wait for
// each: asks for the costs of the next block and the rows of the one after that.
void Placement::fetch_after(std::span<const OptionId> proposal, std::size_t begin) const {
  const std::size_t costs = std::min(begin + kBlock, proposal.size());
  const std::size_t rows = std::min(costs + kBlock, proposal.size());
  for (const OptionId id : proposal.subspan(costs, rows - costs))
    __builtin_prefetch(pool_->costs(pool_->row(id)).data());
  for (const OptionId id : proposal.subspan(rows, std::min(kBlock, proposal.size() - rows)))
    __builtin_prefetch(&pool_->row(id));
}

// All devices start out equal and uniform shards of equal time keep them equal, so one sum of times
// stands for all. Storage is summed as differences at the borders of runs.
bool Placement::place_uniform(std::span<const OptionId> proposal) {
  DeviceState common;
  bool any = false;
  const bool is_long = proposal.size() > kLongProposal;
  const std::size_t block = is_long ? kBlock : proposal.size();
  for (std::size_t begin = 0; begin < proposal.size(); begin += block) {
    if (is_long) fetch_after(proposal, begin);
    for (const OptionId id : proposal.subspan(begin, std::min(block, proposal.size() - begin))) {
      const OptionRow& row = pool_->row(id);
      if (row.partition_by != PartitionBy::kUniform) continue;
      if (row.num_shards != devices_.size()) return false;
      if (!row.equal_perf) return place_unequal_uniform(proposal);
      if (!any) {
        any = true;
        std::fill(delta_.begin(), delta_.end(), Storage());
      }
      common.add(pool_->costs(row).front());
      add_uniform_storage(row);
    }
  }
  if (!any) return true;
  for (DeviceState& device : devices_)
    std::copy(std::begin(common.perf_ms), std::end(common.perf_ms), device.perf_ms);
  std::fill(totals_.begin(), totals_.end(), common.total_ms());
  return settle_uniform_storage();
}

void Placement::add_uniform_storage(const OptionRow& row) {
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  std::uint32_t rank = 0;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    delta_[rank] += costs[run].storage;
    rank += counts[run];
    delta_[rank] -= costs[run].storage;
  }
}

// Sizes are not negative, so every shard fitted when it was placed if and only if no device is
// overdrawn at the end.
bool Placement::settle_uniform_storage() {
  Storage taken;
  bool fits = true;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    taken += delta_[rank];
    DeviceState& device = devices_[device_of_rank_[rank]];
    device.left -= taken;
    fits = fits && !device.left.is_negative();
  }
  return fits;
}

bool Placement::place_unequal_uniform(std::span<const OptionId> proposal) {
  for (const OptionId id : proposal) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by != PartitionBy::kUniform) continue;
    if (!place_rows(row, device_of_rank_)) return false;
  }
  return true;
}

// Updates the tree: device by device if few hosts changed, otherwise all at once.
void Placement::build_tree() {
  const bool known = !changed_hosts_.empty();
  // A replay costs about as much as this many matches of a rebuild.
  constexpr std::size_t kReplayCost = 16;
  if (known && changed_hosts_.size() * local_ * kReplayCost < devices_.size()) {
    for (const std::uint32_t host : changed_hosts_) {
      for (std::uint32_t i = 0; i < local_; ++i) {
        const std::uint32_t at = device(host, i);
        if (is_full_[at] == 0) tree_.update(at, totals_[at]);
      }
    }
  } else {
    if (!known) {
      full_.clear();
      std::fill(is_full_.begin(), is_full_.end(), 0);
    }
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (is_full_[i] == 0) tree_.set(i, totals_[i]);
    }
    tree_.rebuild();
  }
  changed_hosts_.clear();
  tree_valid_ = true;
}

// Notes that loads of this host changed, so that the next build_tree() updates its devices.
void Placement::host_changed(std::uint32_t host) {
  if (host == hosts_) return device_on_no_host_changed();
  host_loads_.touch(host);
  const bool tree_is_known = tree_valid_ || !changed_hosts_.empty();
  // With as many changes as hosts the tree is rebuilt, so more need not be remembered.
  if (tree_is_known && changed_hosts_.size() < hosts_) changed_hosts_.push_back(host);
  tree_valid_ = false;
}

// The next build_tree() then updates all devices.
void Placement::device_on_no_host_changed() {
  changed_hosts_.clear();
  tree_valid_ = false;
}

// Full devices stay out of the tree until a shard comes that may fit them.
void Placement::readmit(const RunCost& cost) {
  while (!full_.empty() && full_.front().hbm >= cost.storage.hbm) {
    const std::uint32_t device = full_.front().device;
    std::pop_heap(full_.begin(), full_.end());
    full_.pop_back();
    is_full_[device] = 0;
    tree_.update(device, totals_[device]);
  }
}

// The least loaded device on which the shard fits, if it does not fit on the least loaded of all;
// kNoDevice = none. Devices that are passed over leave the tree.
std::uint32_t Placement::next_fitting(const RunCost& cost) {
  std::uint32_t at = tree_.winner();
  while (!tree_.is_out(at) && !devices_[at].fits(cost)) {
    is_full_[at] = 1;
    full_.push_back({devices_[at].left.hbm, at});
    std::push_heap(full_.begin(), full_.end());
    at = tree_.take_out(at);
  }
  return tree_.is_out(at) ? kNoDevice : at;
}

// One chain of dependent steps: which device is least loaded depends on the shard before.
inline bool Placement::place_run(const RunCost& cost, std::uint32_t count, Rank* ranks) {
  if (!full_.empty()) readmit(cost);
  for (std::uint32_t k = 0; k < count; ++k) {
    std::uint32_t at = tree_.winner();
    if (!full_.empty() || !devices_[at].fits(cost)) {
      at = next_fitting(cost);
      if (at == kNoDevice) return false;
    }
    add(at, cost);
    tree_.update(at, totals_[at]);
    if (asks_for_hosts_) host_loads_.touch(host_of_device_[at]);
    ranks[k] = rank_of_device_[at];
  }
  return true;
}

inline bool Placement::place_group(const GroupOrder::Group& group) {
  return place_run(pool_->cost(group.run), group.num_shards, ranks_.data() + group.rank_slot);
}

std::size_t Placement::place_plain(std::span<const GroupOrder::Group> groups) {
  if (!tree_valid_) build_tree();
  std::size_t placed = 0;
  while (placed < groups.size() && place_group(groups[placed]))
    ++placed;
  return placed;
}

std::pair<std::size_t, std::size_t> Placement::place_plain_together(
    Placement& a, std::span<const GroupOrder::Group> groups_a, Placement& b,
    std::span<const GroupOrder::Group> groups_b) {
  if (!a.tree_valid_) a.build_tree();
  if (!b.tree_valid_) b.build_tree();
  for (std::size_t i = 0; i < groups_a.size(); ++i) {
    const bool placed_a = a.place_group(groups_a[i]);
    const bool placed_b = b.place_group(groups_b[i]);
    if (placed_a && placed_b) continue;
    // One chain has ended; the other goes on alone.
    const auto rest = [i](Placement& placement, std::span<const GroupOrder::Group> groups,
                          bool placed) {
      return placed ? i + 1 + placement.place_plain(groups.subspan(i + 1)) : i;
    };
    return {rest(a, groups_a, placed_a), rest(b, groups_b, placed_b)};
  }
  return {groups_a.size(), groups_b.size()};
}

// Source: _column_wise_device_partition, torchrec/distributed/planner/partitioners.py of TorchRec
// 1.9.2.
bool Placement::place_on_distinct_devices(const OptionRow& row) {
  Rank* const ranks = ranks_.data() + row.rank_slot;
  std::uint32_t placed = 0;
  const auto is_taken = [&](std::uint32_t at) {
    return std::find(ranks, ranks + placed, rank_of_device_[at]) != ranks + placed;
  };
  for (std::size_t run = 0; run < row.num_runs; ++run) {
    const RunCost& cost = pool_->costs(row)[run];
    for (std::uint32_t k = 0; k < pool_->run_counts(row)[run]; ++k) {
      std::uint32_t best = kNoDevice;
      for (std::uint32_t at = 0; at < devices_.size(); ++at) {
        const bool less = best == kNoDevice || totals_[at] < totals_[best];
        if (less && devices_[at].fits(cost) && !is_taken(at)) best = at;
      }
      if (best == kNoDevice) return false;
      add(best, cost);
      if (is_full_[best] == 0) tree_.update(best, totals_[best]);
      if (asks_for_hosts_) host_loads_.touch(host_of_device_[best]);
      ranks[placed++] = rank_of_device_[best];
    }
  }
  return true;
}

bool Placement::place_on_devices(const OptionRow& row) {
  if (!tree_valid_) build_tree();
  if (row.distinct_ranks) return place_on_distinct_devices(row);
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  Rank* ranks = ranks_.data() + row.rank_slot;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    if (!place_run(costs[run], counts[run], ranks)) return false;
    ranks += counts[run];
  }
  return true;
}

}  // namespace shardwright::embedding
