#include "search/embedding/partitioners/group_order.h"

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
    for (const auto& table : pool.tables()) ++size[problem.module_of(table.table)];
    for (std::size_t i = 0; i < problem.tables().size(); ++i) {
      module_size_.push_back(size[problem.module_of(TableId(i))]);
    }
  }
  std::unordered_map<std::string, std::uint32_t> ids;
  for (const Table& table : problem.tables()) {
    dependency_of_.push_back(
        table.dependency.empty() ? kNone : ids.try_emplace(table.dependency, ids.size()).first->second);
  }
  num_dependencies_ = static_cast<std::uint32_t>(ids.size());
  has_dependencies_ = num_dependencies_ > 0;
  groups_.reserve(pool.tables().size());
}

bool GroupOrder::before(const Group& a, const Group& b) const {
  if (a.module_size != b.module_size) return a.module_size < b.module_size;
  if (by_perf_) {
    if (a.perf_ms != b.perf_ms) return a.perf_ms > b.perf_ms;
  } else {
    if (a.hbm_bytes != b.hbm_bytes) return a.hbm_bytes > b.hbm_bytes;
    if (a.ddr_bytes != b.ddr_bytes) return a.ddr_bytes > b.ddr_bytes;
  }
  return a.first_position < b.first_position;
}

GroupOrder::Group GroupOrder::single(std::uint32_t position, OptionId id) const {
  const OptionRow& row = pool_->row(id);
  const bool plain = row.partition_by == PartitionBy::kDevice && row.num_runs == 1 &&
                     dependency_of_[row.table] == kNone;
  return {row.hbm_bytes,
          row.ddr_bytes,
          row.perf_ms,
          module_size_.empty() ? 0 : module_size_[row.table],
          position,
          id,
          plain ? row.num_shards : 0,
          row.first_run,
          row.rank_slot};
}

void GroupOrder::reset(std::span<const OptionId> proposal) {
  groups_.clear();
  if (has_dependencies_) {
    collect_dependencies(proposal);
  } else {
    for (std::uint32_t position = 0; position < proposal.size(); ++position) {
      if (pool_->row(proposal[position]).partition_by != PartitionBy::kUniform) {
        groups_.push_back(single(position, proposal[position]));
      }
    }
  }
  std::sort(groups_.begin(), groups_.end(),
            [this](const Group& a, const Group& b) { return before(a, b); });
}

void GroupOrder::collect_dependencies(std::span<const OptionId> proposal) {
  std::vector<std::uint32_t> group_of(num_dependencies_, kNone);
  std::vector<std::uint32_t> last_of(num_dependencies_, kNone);
  next_member_.assign(proposal.size(), kNone);
  for (std::uint32_t position = 0; position < proposal.size(); ++position) {
    const OptionRow& row = pool_->row(proposal[position]);
    if (row.partition_by == PartitionBy::kUniform) continue;
    const std::uint32_t dependency = dependency_of_[row.table];
    if (dependency == kNone || group_of[dependency] == kNone) {
      if (dependency != kNone) {
        group_of[dependency] = static_cast<std::uint32_t>(groups_.size());
        last_of[dependency] = position;
      }
      groups_.push_back(single(position, proposal[position]));
      continue;
    }
    Group& group = groups_[group_of[dependency]];
    group.hbm_bytes += row.hbm_bytes;
    group.ddr_bytes += row.ddr_bytes;
    group.perf_ms += row.perf_ms;
    next_member_[last_of[dependency]] = position;
    last_of[dependency] = position;
  }
}

void GroupOrder::change(std::span<const OptionId> proposal, std::uint32_t position,
                        OptionId before_id) {
  if (has_dependencies_) return reset(proposal);
  const auto less = [this](const Group& a, const Group& b) { return before(a, b); };
  const OptionId after_id = proposal[position];
  const bool was_in = pool_->row(before_id).partition_by != PartitionBy::kUniform;
  const bool is_in = pool_->row(after_id).partition_by != PartitionBy::kUniform;
  auto from = groups_.end();
  if (was_in) {
    from = std::lower_bound(groups_.begin(), groups_.end(), single(position, before_id), less);
  }
  if (!is_in) {
    if (was_in) groups_.erase(from);
    return;
  }
  const Group entry = single(position, after_id);
  const auto to = std::lower_bound(groups_.begin(), groups_.end(), entry, less);
  if (!was_in) {
    groups_.insert(to, entry);
  } else if (to > from) {
    std::move(from + 1, to, from);
    *(to - 1) = entry;
  } else {
    std::move_backward(to, from, from + 1);
    *to = entry;
  }
}

}  // namespace shardwright::embedding
