// Placing options that must keep to hosts (table-row-wise, table-column-wise and grid), and shards
// whose ranks are given.
#include <algorithm>

#include "search/embedding/compat/placement/placement.h"

namespace shardwright::embedding {

void Placement::refresh_hosts() {
  host_loads_.refresh([this](std::uint32_t host) {
    double sum = 0;
    for (std::uint32_t i = 0; i < local_; ++i)
      sum += totals_[device(host, i)];
    return sum;
  });
}

bool Placement::place_on_host(std::span<const OptionId> group, Storage storage) {
  if (hosts_ == 0) return false;
  refresh_hosts();
  const auto try_one = [&](std::uint32_t host) {
    Storage left;
    for (std::uint32_t i = 0; i < local_; ++i)
      left += devices_[device(host, i)].left;
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
      restore(device(host, i), saved_[i]);
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
    add(at, cost);
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
      std::uint32_t best = kNoDevice;
      for (std::uint32_t i = 0; i < local_; ++i) {
        const std::uint32_t at = device(host, i);
        const bool less = best == kNoDevice || totals_[at] < totals_[best];
        if (less && devices_[at].fits(costs[run])) best = at;
      }
      if (best == kNoDevice) return false;
      add(best, costs[run]);
      *ranks++ = rank_of_device_[best];
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
      if (!devices_[devices[shard]].fits(costs[run])) return false;
      add(devices[shard], costs[run]);
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
  if (hosts_ == 0) return false;
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
      restore(window_[i], saved_[i]);
    return false;
  }
  for (std::uint32_t i = 0; i < std::min(count, hosts_); ++i) {
    host_changed(sorted_hosts_[(begin + i) % hosts_].host);
  }
  return true;
}

}  // namespace shardwright::embedding
