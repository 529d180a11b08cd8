#include "search/embedding/compat/placement/group_order.h"

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

// Groups are in the order of their first members. Further members of a dependency add to its key.
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

// The first group that does not come before one with this key and position.
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

}  // namespace shardwright::embedding
