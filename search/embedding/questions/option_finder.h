// Finds the sharding options that the entries of a plan file name.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/search_space.h"
#include "core/status.h"

namespace shardwright::embedding {

// Looks options up by table, sharding type, kernel and load factor. Owns the options that are not
// in the search space.
// Thread safety: one thread at a time; options that were found may be read from any thread.
class OptionFinder {
 public:
  explicit OptionFinder(std::shared_ptr<const SearchSpace> space);

  // Errors: kVerificationFailed if the problem has no such table or the table no such option.
  Result<const ShardingOption*> find_option(const PlanEntry& entry);

 private:
  Result<TableId> find_table(const PlanEntry& entry) const;
  // Makes an option that proposers add to the search space (scaled caches, tables promoted to HBM).
  Result<const ShardingOption*> remake_option(TableId table, const PlanEntry& entry);

  std::shared_ptr<const SearchSpace> space_;
  std::unordered_map<std::string, std::vector<TableId>> tables_by_name_;
  std::vector<std::vector<const ShardingOption*>> options_by_table_;
  std::deque<ShardingOption> remade_;  // stable addresses
};

}  // namespace shardwright::embedding
