#include "search/embedding/partitioners/placement.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {

Placement::Placement(const OptionPool& pool, const Topology& available)
    : pool_(&pool),
      available_(available),
      local_(available.local_world_size()),
      hosts_(available.num_hosts()),
      devices_(available.world_size()),
      host_perf_(hosts_, 0.0),
      host_known_(hosts_, 0),
      saved_(local_),
      hbm_delta_(available.world_size() + 1, 0),
      ddr_delta_(available.world_size() + 1, 0) {
  // Every table gets room for the most shards that one of its options places.
  rank_offset_.assign(pool.problem().tables().size(), 0);
  std::size_t offset = 0;
  for (const auto& table : pool.tables()) {
    rank_offset_[table.table.index()] = offset;
    std::uint32_t most = 0;
    for (const OptionId id : table.options) {
      const OptionRow& row = pool.row(id);
      if (row.partition_by != PartitionBy::kUniform) most = std::max(most, row.num_shards);
    }
    offset += most;
  }
  ranks_.resize(offset);
  out_.reserve(available.world_size());
  sorted_hosts_.reserve(hosts_);
  tree_.reset(available.world_size(), 0);
  host_tree_.reset(local_, 0);
}

void Placement::reset(std::int64_t hbm_per_device) {
  const auto& storage = available_.storage();
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    devices_[rank] = DeviceState();
    devices_[rank].hbm_bytes = hbm_per_device != 0 ? hbm_per_device : storage[rank].hbm.value();
    devices_[rank].ddr_bytes = storage[rank].ddr.value();
  }
  std::fill(host_known_.begin(), host_known_.end(), 0);
  tree_valid_ = false;
}

// The devices start out equal and uniform shards of equal time keep them equal, so their times
// advance as one; their storage is summed over the runs' borders.
bool Placement::place_uniform(std::span<const OptionId> proposal) {
  DeviceState common;
  bool any = false;
  for (const OptionId id : proposal) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by != PartitionBy::kUniform) continue;
    if (row.num_shards != devices_.size()) return false;
    if (!row.equal_perf) return place_unequal_uniform(proposal);
    any = true;
    const RunCost& cost = pool_->costs(row).front();
    for (int i = 0; i < 5; ++i) common.perf_ms[i] += cost.perf_ms[i];
  }
  if (!any) return true;
  common.total_ms = common.perf_ms[0] + common.perf_ms[2] + common.perf_ms[1] + common.perf_ms[3] +
                    common.perf_ms[4];
  std::fill(hbm_delta_.begin(), hbm_delta_.end(), 0);
  std::fill(ddr_delta_.begin(), ddr_delta_.end(), 0);
  for (const OptionId id : proposal) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by == PartitionBy::kUniform) add_uniform_storage(row);
  }
  for (DeviceState& device : devices_) {
    std::copy(std::begin(common.perf_ms), std::end(common.perf_ms), device.perf_ms);
    device.total_ms = common.total_ms;
  }
  return settle_uniform_storage();
}

void Placement::add_uniform_storage(const OptionRow& row) {
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  std::uint32_t rank = 0;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    hbm_delta_[rank] += costs[run].hbm_bytes;
    ddr_delta_[rank] += costs[run].ddr_bytes;
    rank += counts[run];
    hbm_delta_[rank] -= costs[run].hbm_bytes;
    ddr_delta_[rank] -= costs[run].ddr_bytes;
  }
}

// Sizes are not negative: every shard fitted when it was placed exactly if nothing is overdrawn at
// the end.
bool Placement::settle_uniform_storage() {
  std::int64_t hbm = 0;
  std::int64_t ddr = 0;
  bool fits = true;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    hbm += hbm_delta_[rank];
    ddr += ddr_delta_[rank];
    devices_[rank].hbm_bytes -= hbm;
    devices_[rank].ddr_bytes -= ddr;
    fits = fits && devices_[rank].hbm_bytes >= 0 && devices_[rank].ddr_bytes >= 0;
  }
  return fits;
}

bool Placement::place_unequal_uniform(std::span<const OptionId> proposal) {
  for (const OptionId id : proposal) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by != PartitionBy::kUniform) continue;
    if (row.num_shards != devices_.size()) return false;
    const auto costs = pool_->costs(row);
    const std::uint32_t* counts = pool_->run_counts(row);
    std::size_t rank = 0;
    for (std::size_t run = 0; run < costs.size(); ++run) {
      for (std::uint32_t k = 0; k < counts[run]; ++k, ++rank) {
        if (!devices_[rank].fits(costs[run])) return false;
        devices_[rank].add(costs[run]);
      }
    }
  }
  return true;
}

void Placement::ensure_tree() {
  if (tree_valid_) return;
  for (std::uint32_t rank = 0; rank < devices_.size(); ++rank) {
    tree_.set(rank % local_ * hosts_ + rank / local_, devices_[rank].total_ms);
  }
  tree_.rebuild();
  tree_valid_ = true;
}

template <class LeafRank>
bool Placement::place_by_tree(DeviceTree& tree, const OptionRow& row, const LeafRank& leaf_rank) {
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  Rank* rank_of_shard = ranks(row).data();
  for (std::size_t run = 0; run < costs.size(); ++run) {
    out_.clear();
    for (std::uint32_t k = 0; k < counts[run]; ++k) {
      std::uint32_t leaf = tree.winner();
      while (tree.load(leaf) != DeviceTree::kOut &&
             !devices_[leaf_rank(leaf)].fits(costs[run])) {
        out_.push_back(leaf);
        tree.update(leaf, DeviceTree::kOut);
        leaf = tree.winner();
      }
      if (tree.load(leaf) == DeviceTree::kOut) return false;
      const std::uint32_t rank = leaf_rank(leaf);
      devices_[rank].add(costs[run]);
      touch_host(rank / local_);
      tree.update(leaf, devices_[rank].total_ms);
      *rank_of_shard++ = rank;
    }
    // What was too large for a device stays too large within the run, not beyond.
    for (const std::uint32_t leaf : out_) tree.update(leaf, devices_[leaf_rank(leaf)].total_ms);
  }
  return true;
}

bool Placement::place_on_devices(OptionId id) {
  ensure_tree();
  return place_by_tree(tree_, pool_->row(id), [this](std::uint32_t leaf) {
    return leaf % hosts_ * local_ + leaf / hosts_;
  });
}

double Placement::host_perf(std::uint32_t host) {
  if (!host_known_[host]) {
    double sum = 0;
    for (std::uint32_t i = 0; i < local_; ++i) sum += devices_[host * local_ + i].total_ms;
    host_perf_[host] = sum;
    host_known_[host] = 1;
  }
  return host_perf_[host];
}

bool Placement::next_host(HostKey& after) {
  bool found = false;
  HostKey best;
  for (std::uint32_t host = 0; host < hosts_; ++host) {
    const double perf = host_perf(host);
    const bool later = perf > after.perf_ms || (perf == after.perf_ms && host > after.host);
    if ((later || after.host == hosts_) && (!found || perf < best.perf_ms)) {
      best = {perf, host};
      found = true;
    }
  }
  after = best;
  return found;
}

bool Placement::place_on_host(std::span<const OptionId> group, std::int64_t hbm_bytes,
                              std::int64_t ddr_bytes) {
  tree_valid_ = false;
  HostKey host{0, hosts_};
  while (next_host(host)) {
    const auto devices = std::span(devices_).subspan(host.host * local_, local_);
    std::int64_t hbm = 0;
    std::int64_t ddr = 0;
    for (const DeviceState& device : devices) {
      hbm += device.hbm_bytes;
      ddr += device.ddr_bytes;
    }
    if (hbm_bytes > hbm || ddr_bytes > ddr) continue;
    std::copy(devices.begin(), devices.end(), saved_.begin());
    const bool placed = try_host(group, host.host);
    if (placed) {
      touch_host(host.host);
      return true;
    }
    std::copy(saved_.begin(), saved_.end(), devices.begin());
    host_known_[host.host] = 1;  // as before the attempt
  }
  return false;
}

bool Placement::try_host(std::span<const OptionId> group, std::uint32_t host) {
  bool tree_built = false;
  for (const OptionId id : group) {
    const OptionRow& row = pool_->row(id);
    if (row.sharding_type == ShardingType::kTableRowWise) {
      tree_built = false;
      window_.resize(local_);
      for (std::uint32_t i = 0; i < local_; ++i) window_[i] = host * local_ + i;
      if (!place_rows(row, window_)) return false;
    } else if (row.sharding_type == ShardingType::kTableColumnWise) {
      if (!tree_built) {
        for (std::uint32_t i = 0; i < local_; ++i) {
          host_tree_.set(i, devices_[host * local_ + i].total_ms);
        }
        host_tree_.rebuild();
        tree_built = true;
      }
      const auto rank_of = [&](std::uint32_t leaf) { return host * local_ + leaf; };
      if (!place_by_tree(host_tree_, row, rank_of)) return false;
    } else {
      return false;
    }
  }
  return true;
}

// Shard i on ranks[i]; a rank may come up more than once.
bool Placement::place_rows(const OptionRow& row, std::span<const std::uint32_t> ranks) {
  if (row.num_shards != ranks.size()) return false;
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  const std::span<Rank> rank_of_shard = this->ranks(row);
  std::size_t shard = 0;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    for (std::uint32_t k = 0; k < counts[run]; ++k, ++shard) {
      DeviceState& device = devices_[ranks[shard]];
      if (!device.fits(costs[run])) return false;
      device.add(costs[run]);
      rank_of_shard[shard] = ranks[shard];
    }
  }
  return true;
}

bool Placement::place_on_hosts(OptionId id) {
  tree_valid_ = false;
  const OptionRow& row = pool_->row(id);
  if (row.sharding_type != ShardingType::kGridShard || row.num_shards % local_ != 0) return false;
  const std::uint32_t wanted = row.num_shards / local_;
  sorted_hosts_.clear();
  for (std::uint32_t host = 0; host < hosts_; ++host) sorted_hosts_.push_back({host_perf(host), host});
  std::stable_sort(sorted_hosts_.begin(), sorted_hosts_.end(),
                   [](const HostKey& a, const HostKey& b) { return a.perf_ms < b.perf_ms; });
  if (wanted >= hosts_) return try_hosts(row, sorted_hosts_, 0, wanted);
  for (std::uint32_t begin = 0; begin + wanted <= hosts_; ++begin) {
    if (try_hosts(row, sorted_hosts_, begin, wanted)) return true;
  }
  return false;
}

// The hosts [begin, begin + count) of the order, in a circle where that is more than there are.
bool Placement::try_hosts(const OptionRow& row, std::span<const HostKey> hosts, std::uint32_t begin,
                          std::uint32_t count) {
  window_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t host = hosts[(begin + i) % hosts_].host;
    for (std::uint32_t k = 0; k < local_; ++k) window_.push_back(host * local_ + k);
  }
  saved_.clear();
  for (const std::uint32_t rank : window_) saved_.push_back(devices_[rank]);
  const bool placed = place_rows(row, window_);
  for (std::uint32_t i = 0; i < count; ++i) touch_host(hosts[(begin + i) % hosts_].host);
  if (!placed) {
    for (std::size_t i = 0; i < window_.size(); ++i) devices_[window_[i]] = saved_[i];
  }
  saved_.resize(std::max<std::size_t>(saved_.size(), local_));
  return placed;
}

}  // namespace shardwright::embedding
