#include "search/embedding/compat/placement/placement.h"

namespace shardwright::embedding {

Placement::Placement(const OptionPool& pool, const Topology& available)
    : pool_(&pool),
      local_(available.local_world_size()),
      hosts_(available.num_hosts()),
      device_of_rank_(available.world_size()),
      rank_of_device_(available.world_size()),
      host_of_device_(available.world_size()),
      devices_(available.world_size()),
      tree_(available.world_size()),
      is_full_(available.world_size(), 0),
      host_loads_(hosts_),
      hbm_delta_(available.world_size() + 1, 0),
      ddr_delta_(available.world_size() + 1, 0) {
  available_.resize(devices_.size());
  for (Rank rank = 0; rank < devices_.size(); ++rank) {
    const std::uint32_t at = device(rank / local_, rank % local_);
    device_of_rank_[rank] = at;
    rank_of_device_[at] = rank;
    host_of_device_[at] = rank / local_;
    available_[at] = available.storage()[rank];
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
    devices_[i].hbm_bytes = hbm_per_device != 0 ? hbm_per_device : available_[i].hbm.value();
    devices_[i].ddr_bytes = available_[i].ddr.value();
  }
  host_loads_.reset();
  changed_hosts_.clear();
  tree_valid_ = false;
}

// All devices start out equal and uniform shards of equal time keep them equal, so one sum of times
// stands for all. Storage is summed as differences at the borders of runs.
bool Placement::place_uniform(std::span<const OptionId> proposal) {
  DeviceState common;
  bool any = false;
  for (const OptionId id : proposal) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by != PartitionBy::kUniform) continue;
    if (row.num_shards != devices_.size()) return false;
    if (!row.equal_perf) return place_unequal_uniform(proposal);
    if (!any) {
      any = true;
      std::fill(hbm_delta_.begin(), hbm_delta_.end(), 0);
      std::fill(ddr_delta_.begin(), ddr_delta_.end(), 0);
    }
    common.add(pool_->costs(row).front());
    add_uniform_storage(row);
  }
  if (!any) return true;
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

// Sizes are not negative, so every shard fitted when it was placed if and only if no device is
// overdrawn at the end.
bool Placement::settle_uniform_storage() {
  std::int64_t hbm = 0;
  std::int64_t ddr = 0;
  bool fits = true;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    hbm += hbm_delta_[rank];
    ddr += ddr_delta_[rank];
    DeviceState& device = devices_[device_of_rank_[rank]];
    device.hbm_bytes -= hbm;
    device.ddr_bytes -= ddr;
    fits = fits && device.hbm_bytes >= 0 && device.ddr_bytes >= 0;
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
        if (is_full_[at] == 0) tree_.update(at, devices_[at].total_ms);
      }
    }
  } else {
    if (!known) {
      full_.clear();
      std::fill(is_full_.begin(), is_full_.end(), 0);
    }
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (is_full_[i] == 0) tree_.set(i, devices_[i].total_ms);
    }
    tree_.rebuild();
  }
  changed_hosts_.clear();
  tree_valid_ = true;
}

// Marks the devices of a host as changed since the tree was updated.
void Placement::host_changed(std::uint32_t host) {
  host_loads_.touch(host);
  const bool tree_is_known = tree_valid_ || !changed_hosts_.empty();
  // With as many changes as hosts the tree is rebuilt, so more need not be remembered.
  if (tree_is_known && changed_hosts_.size() < hosts_) changed_hosts_.push_back(host);
  tree_valid_ = false;
}

// Full devices stay out of the tree until a shard comes that may fit them.
void Placement::readmit(const RunCost& cost) {
  while (!full_.empty() && full_.front().hbm_bytes >= cost.hbm_bytes) {
    const std::uint32_t device = full_.front().device;
    std::pop_heap(full_.begin(), full_.end());
    full_.pop_back();
    is_full_[device] = 0;
    tree_.update(device, devices_[device].total_ms);
  }
}

// The least loaded device on which the shard fits, if it does not fit on the least loaded of all;
// kNoDevice = none. Devices that are passed over leave the tree.
std::uint32_t Placement::next_fitting(const RunCost& cost) {
  std::uint32_t at = tree_.winner();
  while (!tree_.is_out(at) && !devices_[at].fits(cost)) {
    is_full_[at] = 1;
    full_.push_back({devices_[at].hbm_bytes, at});
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
    DeviceState& device = devices_[at];
    device.add(cost);
    tree_.update(at, device.total_ms);
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

bool Placement::place_on_devices(const OptionRow& row) {
  if (!tree_valid_) build_tree();
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  Rank* ranks = ranks_.data() + row.rank_slot;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    if (!place_run(costs[run], counts[run], ranks)) return false;
    ranks += counts[run];
  }
  return true;
}

void Placement::refresh_hosts() {
  host_loads_.refresh([this](std::uint32_t host) {
    double sum = 0;
    for (std::uint32_t i = 0; i < local_; ++i)
      sum += devices_[device(host, i)].total_ms;
    return sum;
  });
}

bool Placement::place_on_host(std::span<const OptionId> group, Storage storage) {
  refresh_hosts();
  const auto try_one = [&](std::uint32_t host) {
    Storage left;
    for (std::uint32_t i = 0; i < local_; ++i) {
      const DeviceState& own = devices_[device(host, i)];
      left += Storage{Bytes(own.hbm_bytes), Bytes(own.ddr_bytes)};
    }
    if (!storage.fits_in(left) || !try_host(group, host)) return false;
    host_changed(host);
    return true;
  };
  if (try_one(host_loads_.first().host)) return true;
  // The first host usually takes the group; the others are sorted only if it does not.
  sort_hosts();
  return std::any_of(sorted_hosts_.begin() + 1, sorted_hosts_.end(),
                     [&](const HostKey& key) { return try_one(key.host); });
}

void Placement::sort_hosts() {
  sorted_hosts_.clear();
  for (std::uint32_t host = 0; host < hosts_; ++host)
    sorted_hosts_.push_back(host_loads_.key(host));
  std::sort(sorted_hosts_.begin(), sorted_hosts_.end());
}

// Places the group within the host or leaves the host as it was.
bool Placement::try_host(std::span<const OptionId> group, std::uint32_t host) {
  const OptionRow& first = pool_->row(group.front());
  if (group.size() == 1 && first.sharding_type == ShardingType::kTableRowWise) {
    return place_rows_on_host(first, host);
  }
  saved_.clear();
  for (std::uint32_t i = 0; i < local_; ++i)
    saved_.push_back(devices_[device(host, i)]);
  for (const OptionId id : group) {
    const OptionRow& row = pool_->row(id);
    const bool placed = row.sharding_type == ShardingType::kTableRowWise
                            ? place_rows_on_host(row, host)
                            : row.sharding_type == ShardingType::kTableColumnWise &&
                                  place_columns_on_host(row, host);
    if (placed) continue;
    for (std::uint32_t i = 0; i < local_; ++i)
      devices_[device(host, i)] = saved_[i];
    return false;
  }
  return true;
}

// Places shard i on device i of the host. Places nothing unless everything fits.
bool Placement::place_rows_on_host(const OptionRow& row, std::uint32_t host) {
  if (row.num_shards != local_) return false;
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  const auto for_each_shard = [&](const auto& visit) {
    std::uint32_t shard = 0;
    for (std::size_t run = 0; run < costs.size(); ++run) {
      for (std::uint32_t k = 0; k < counts[run]; ++k, ++shard) {
        if (!visit(device(host, shard), shard, costs[run])) return false;
      }
    }
    return true;
  };
  const bool fits = for_each_shard([this](std::uint32_t at, std::uint32_t, const RunCost& cost) {
    return devices_[at].fits(cost);
  });
  if (!fits) return false;
  Rank* ranks = ranks_.data() + row.rank_slot;
  return for_each_shard([&](std::uint32_t at, std::uint32_t shard, const RunCost& cost) {
    devices_[at].add(cost);
    ranks[shard] = rank_of_device_[at];
    return true;
  });
}

// Places each shard on the host's device of least (time, rank) on which it fits.
bool Placement::place_columns_on_host(const OptionRow& row, std::uint32_t host) {
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  Rank* ranks = ranks_.data() + row.rank_slot;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    for (std::uint32_t k = 0; k < counts[run]; ++k) {
      DeviceState* best = nullptr;
      for (std::uint32_t i = 0; i < local_; ++i) {
        DeviceState& candidate = devices_[device(host, i)];
        const bool less = best == nullptr || candidate.total_ms < best->total_ms;
        if (less && candidate.fits(costs[run])) best = &candidate;
      }
      if (best == nullptr) return false;
      best->add(costs[run]);
      *ranks++ = rank_of_device_[static_cast<std::size_t>(best - devices_.data())];
    }
  }
  return true;
}

// Places shard i on devices[i]; a device may occur more than once. Ranks of uniform options are not
// stored: shard i is on rank i.
bool Placement::place_rows(const OptionRow& row, std::span<const std::uint32_t> devices) {
  if (row.num_shards != devices.size()) return false;
  const auto costs = pool_->costs(row);
  const std::uint32_t* counts = pool_->run_counts(row);
  Rank* ranks = row.partition_by == PartitionBy::kUniform ? nullptr : ranks_.data() + row.rank_slot;
  std::size_t shard = 0;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    for (std::uint32_t k = 0; k < counts[run]; ++k, ++shard) {
      DeviceState& device = devices_[devices[shard]];
      if (!device.fits(costs[run])) return false;
      device.add(costs[run]);
      if (ranks != nullptr) ranks[shard] = rank_of_device_[devices[shard]];
    }
  }
  return true;
}

bool Placement::place_on_ranks(const OptionRow& row, std::span<const Rank> ranks) {
  window_.clear();
  for (const Rank rank : ranks) {
    if (rank >= devices_.size()) return false;
    window_.push_back(device_of_rank_[rank]);
  }
  if (!place_rows(row, window_)) return false;
  for (const std::uint32_t at : window_)
    host_changed(host_of_device_[at]);
  return true;
}

bool Placement::place_on_hosts(const OptionRow& row) {
  if (row.sharding_type != ShardingType::kGridShard || row.num_shards % local_ != 0) return false;
  const std::uint32_t wanted = row.num_shards / local_;
  refresh_hosts();
  sort_hosts();
  if (wanted >= hosts_) return try_hosts(row, 0, wanted);
  for (std::uint32_t begin = 0; begin + wanted <= hosts_; ++begin) {
    if (try_hosts(row, begin, wanted)) return true;
  }
  return false;
}

// The hosts [begin, begin + count) of the order, which starts over at its end.
bool Placement::try_hosts(const OptionRow& row, std::uint32_t begin, std::uint32_t count) {
  window_.clear();
  saved_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t host = sorted_hosts_[(begin + i) % hosts_].host;
    for (std::uint32_t k = 0; k < local_; ++k) {
      window_.push_back(device(host, k));
      saved_.push_back(devices_[window_.back()]);
    }
  }
  if (!place_rows(row, window_)) {
    for (std::size_t i = 0; i < window_.size(); ++i)
      devices_[window_[i]] = saved_[i];
    return false;
  }
  for (std::uint32_t i = 0; i < std::min(count, hosts_); ++i) {
    host_changed(sorted_hosts_[(begin + i) % hosts_].host);
  }
  return true;
}

}  // namespace shardwright::embedding
