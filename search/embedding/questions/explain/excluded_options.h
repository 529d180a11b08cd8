// The options that a table's constraints on types, kernels and partitioning rule out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/embedding/search_space.h"
#include "search/executor.h"

namespace shardwright::embedding {

struct ExcludedOption {
  const ShardingOption* option = nullptr;
  std::vector<std::string> excluded_by;  // JSON pointers
};

// What `sharding_types`, `compute_kernels` and `min_partition` exclude, table by table. Options
// that a sharder offers only if a constraint names them (grid_shard, key-value kernels) are left
// out.
// Thread safety: immutable; const members may be called from any thread.
class ExcludedOptions {
 public:
  // Nothing is excluded: the options were given, not enumerated.
  explicit ExcludedOptions(const SearchSpace& space) : by_table_(space.problem().tables().size()) {}

  // Cost: at most two enumerations, one without lists of types and kernels, one also without
  // minimum partitions.
  ExcludedOptions(const SearchSpace& space, Executor& executor);

  const std::vector<ExcludedOption>& of(TableId table) const { return by_table_[table.index()]; }
  // The search spaces that own the excluded options.
  const std::vector<std::shared_ptr<const SearchSpace>>& owners() const { return owners_; }

 private:
  void add(const SearchSpace& space, bool partition_dropped, Executor& executor);
  bool is_known(const SearchSpace& space, const ShardingOption& option) const;

  std::vector<std::vector<ExcludedOption>> by_table_;
  std::vector<std::vector<const ShardingOption*>> offered_;  // by table
  std::vector<std::shared_ptr<const SearchSpace>> owners_;
};

}  // namespace shardwright::embedding
