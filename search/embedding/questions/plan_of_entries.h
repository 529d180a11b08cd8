// Finds the sharding options that a plan file names.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "search/embedding/model/greedy_placer.h"

namespace shardwright::embedding {

// Finds options by table, sharding type, kernel and load factor. If several match, takes an option
// with the shards of the file. Options that the search space lacks are interned in a layer over it.
// Thread safety: one thread at a time; any thread may read found options.
class OptionFinder {
 public:
  explicit OptionFinder(std::shared_ptr<const SearchSpace> space);

  // Errors: kVerificationFailed if the problem has no such table, or the table has no such option.
  Result<const ShardingOption*> find_option(const PlanEntry& entry);

  // Owns every option that was found.
  std::shared_ptr<const void> owner() const { return layer_; }
  // The number of options found that the search space lacks.
  std::size_t num_added() const { return layer_->size(); }

 private:
  Result<TableId> find_table(const PlanEntry& entry) const;
  // Makes an option that the scale-up proposer would add: a cache of another size, or no cache.
  Result<const ShardingOption*> remake_option(TableId table, const PlanEntry& entry);

  std::shared_ptr<const SearchSpace> space_;
  std::unordered_map<std::string, std::vector<TableId>> tables_by_name_;
  std::vector<std::vector<const ShardingOption*>> options_by_table_;
  std::shared_ptr<OptionLayer> layer_;
};

// Chooses an option of the table and ranks for its shards, and adds both to `loads`. Minimises the
// memory beyond capacity first, then the time of the slowest rank. Places shard by shard on the
// best rank or host that the table's own rules allow; ignores group rules. Returns nothing if no
// option can be placed. Cost: O(options x shards x ranks).
std::optional<Assignment> place_anew(const Problem& problem, const Topology& available,
                                     std::span<const ShardingOption* const> options,
                                     PlanLoads& loads);

// Returns the plan that the entries describe; the plan owns the space. Does not check memory and
// the user's placement rules. Errors: kInvalidInput with the JSON pointer in the plan file, if the
// space lacks an option, if ranks do not exist or are not one per shard, or if a table is missing,
// appears twice, or has ranks that its sharding type does not allow.
Result<Plan> plan_of_entries(const std::shared_ptr<const SearchSpace>& space,
                             const std::vector<PlanEntry>& entries);

}  // namespace shardwright::embedding
