#include "search/embedding/compat/placement.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace shardwright::embedding {

GroupOrder::GroupOrder(const OptionPool& pool, PartitionerSpec::SortBy sort_by,
                       bool balance_modules)
    : pool_(&pool), by_perf_(sort_by == PartitionerSpec::SortBy::kPerf) {
  const Problem& problem = pool.problem();
  if (balance_modules) {
    std::vector<std::uint32_t> size(problem.modules().size(), 0);
    for (const auto& table : pool.tables())
      ++size[problem.module_of(table.table)];
    for (std::size_t i = 0; i < problem.tables().size(); ++i) {
      module_size_.push_back(size[problem.module_of(TableId(i))]);
    }
  }
  std::unordered_map<std::string, std::uint32_t> ids;
  for (const Table& table : problem.tables()) {
    dependency_of_.push_back(table.dependency.empty()
                                 ? kNone
                                 : ids.try_emplace(table.dependency, ids.size()).first->second);
  }
  num_dependencies_ = static_cast<std::uint32_t>(ids.size());
  has_dependencies_ = num_dependencies_ > 0;
  groups_.reserve(pool.tables().size());
  merged_.reserve(pool.tables().size());
  changed_.reserve(pool.tables().size());
  is_changed_.reserve(pool.tables().size());
  keys_.reserve(pool.tables().size());
}

bool GroupOrder::before(const Key& a, std::uint32_t position_a, const Key& b,
                        std::uint32_t position_b) const {
  if (a.module_size != b.module_size) return a.module_size < b.module_size;
  if (by_perf_) {
    if (a.perf_ms != b.perf_ms) return a.perf_ms > b.perf_ms;
  } else if (a.storage != b.storage) {
    return a.storage > b.storage;
  }
  return position_a < position_b;
}

GroupOrder::Key GroupOrder::key_of(OptionId id) const {
  const OptionRow& row = pool_->row(id);
  return {row.storage, row.perf_ms, module_size_.empty() ? 0 : module_size_[row.table]};
}

GroupOrder::Group GroupOrder::group_of(std::uint32_t position, OptionId id) const {
  const OptionRow& row = pool_->row(id);
  const bool plain = row.partition_by == PartitionBy::kDevice && row.num_runs == 1 &&
                     !row.distinct_ranks && dependency_of_[row.table] == kNone;
  return {position, plain ? row.num_shards : 0, row.first_run, row.rank_slot};
}

void GroupOrder::reset(std::span<const OptionId> proposal) {
  groups_.clear();
  keys_.resize(proposal.size());
  next_member_.assign(has_dependencies_ ? proposal.size() : 0, kNone);
  collect(proposal);
  sort(groups_);
}

void GroupOrder::sort(std::vector<Group>& groups) const {
  std::sort(groups.begin(), groups.end(), [this](const Group& a, const Group& b) {
    return before(keys_[a.first_position], a.first_position, keys_[b.first_position],
                  b.first_position);
  });
}

// Collects the groups in the order of their first members. Further members add to the group's key.
void GroupOrder::collect(std::span<const OptionId> proposal) {
  std::vector<std::uint32_t> first_of(num_dependencies_, kNone);
  std::vector<std::uint32_t> last_of(num_dependencies_, kNone);
  for (std::uint32_t position = 0; position < proposal.size(); ++position) {
    const OptionRow& row = pool_->row(proposal[position]);
    if (row.partition_by == PartitionBy::kUniform) continue;
    const std::uint32_t dependency = dependency_of_[row.table];
    if (dependency != kNone && first_of[dependency] != kNone) {
      Key& key = keys_[first_of[dependency]];
      key.storage += row.storage;
      key.perf_ms += row.perf_ms;
      next_member_[last_of[dependency]] = position;
      last_of[dependency] = position;
      continue;
    }
    if (dependency != kNone) first_of[dependency] = last_of[dependency] = position;
    keys_[position] = key_of(proposal[position]);
    groups_.push_back(group_of(position, proposal[position]));
  }
}

// Returns the index of the first group that does not come before a group with this key and
// position.
std::size_t GroupOrder::find(const Key& key, std::uint32_t position) const {
  const auto at = std::partition_point(groups_.begin(), groups_.end(), [&](const Group& group) {
    return before(keys_[group.first_position], group.first_position, key, position);
  });
  return static_cast<std::size_t>(at - groups_.begin());
}

void GroupOrder::change_many(std::span<const OptionId> proposal,
                             std::span<const std::uint32_t> positions) {
  if (has_dependencies_) return reset(proposal);
  is_changed_.assign(proposal.size(), 0);
  changed_.clear();
  for (const std::uint32_t position : positions) {
    is_changed_[position] = 1;
    keys_[position] = key_of(proposal[position]);
    if (pool_->row(proposal[position]).partition_by != PartitionBy::kUniform) {
      changed_.push_back(group_of(position, proposal[position]));
    }
  }
  sort(changed_);
  merged_.clear();
  auto next = changed_.begin();
  for (const Group& group : groups_) {
    const std::uint32_t position = group.first_position;
    if (is_changed_[position] != 0) continue;
    while (next != changed_.end() &&
           before(keys_[next->first_position], next->first_position, keys_[position], position)) {
      merged_.push_back(*next++);
    }
    merged_.push_back(group);
  }
  merged_.insert(merged_.end(), next, changed_.end());
  groups_.swap(merged_);
}

void GroupOrder::change(std::span<const OptionId> proposal, std::uint32_t position,
                        OptionId before_id) {
  if (has_dependencies_) return reset(proposal);
  const OptionId after_id = proposal[position];
  const bool was_in = pool_->row(before_id).partition_by != PartitionBy::kUniform;
  const bool is_in = pool_->row(after_id).partition_by != PartitionBy::kUniform;
  const Key key = key_of(after_id);
  const auto from =
      groups_.begin() + static_cast<std::ptrdiff_t>(was_in ? find(keys_[position], position) : 0);
  const auto to = groups_.begin() + static_cast<std::ptrdiff_t>(is_in ? find(key, position) : 0);
  keys_[position] = key;
  if (!is_in) {
    if (was_in) groups_.erase(from);
    return;
  }
  const Group group = group_of(position, after_id);
  if (!was_in) {
    groups_.insert(to, group);
  } else if (to > from) {
    std::move(from + 1, to, from);
    *(to - 1) = group;
  } else {
    std::move_backward(to, from, from + 1);
    *to = group;
  }
}

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

// Prefetches the costs of the next block and the rows of the block after it, because the rows and
// costs of thousands of tables are not in the cache.
void Placement::fetch_after(std::span<const OptionId> proposal, std::size_t begin) const {
  const std::size_t costs = std::min(begin + kBlock, proposal.size());
  const std::size_t rows = std::min(costs + kBlock, proposal.size());
  for (const OptionId id : proposal.subspan(costs, rows - costs))
    __builtin_prefetch(pool_->costs(pool_->row(id)).data());
  for (const OptionId id : proposal.subspan(rows, std::min(kBlock, proposal.size() - rows)))
    __builtin_prefetch(&pool_->row(id));
}

// Devices start empty, and uniform shards of equal time add the same to all devices, so one sum of
// times suffices. Storage is summed as differences at the borders of runs.
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

// Returns true if no device is overdrawn. Sizes are not negative, so then every shard fitted when
// it was placed.
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
  // With as many changes as hosts, the tree is rebuilt in any case.
  if (tree_is_known && changed_hosts_.size() < hosts_) changed_hosts_.push_back(host);
  tree_valid_ = false;
}

// Lets the next build_tree() update all devices.
void Placement::device_on_no_host_changed() {
  changed_hosts_.clear();
  tree_valid_ = false;
}

// Puts devices back into the tree that a shard of this cost may fit.
void Placement::readmit(const RunCost& cost) {
  while (!full_.empty() && full_.front().hbm >= cost.storage.hbm) {
    const std::uint32_t device = full_.front().device;
    std::pop_heap(full_.begin(), full_.end());
    full_.pop_back();
    is_full_[device] = 0;
    tree_.update(device, totals_[device]);
  }
}

// Returns the least loaded device on which the shard fits; kNoDevice = none. Takes less loaded
// devices out of the tree.
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
  // The group usually fits on the first host. All hosts are sorted only if it does not.
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

// Places the group on the host. If it does not fit, returns false and leaves the host unchanged.
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

// Places shard i on device i of the host. If any does not fit, returns false and places nothing.
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

// Places shard i on devices[i]; a device may occur more than once. Does not store ranks of uniform
// options, whose shard i is on rank i.
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

// Tries the hosts [begin, begin + count) of sorted_hosts_, cyclically.
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
