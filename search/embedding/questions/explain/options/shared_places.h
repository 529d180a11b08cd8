// The ranks that group rules leave one table while all other tables of a plan stay.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// Keeps a reference to the problem.
// Thread safety: immutable; const members may be called from any thread.
class SharedPlaces {
 public:
  // For the table at `position` of the plan. O(ranks) per group that names the table.
  SharedPlaces(const Problem& problem, const Plan& plan, std::size_t position);

  // All shards must be within one of these sets; a null set allows every rank. If there is no set,
  // the table has no place.
  const std::vector<const RankSet*>& sets() const { return sets_; }

  // JSON pointers of the placement rules that leave `option` no place: max_shards if that rule
  // alone does, otherwise all rules that restrict where shards may be.
  std::vector<std::string> rules_against(const ShardingOption& option) const;

 private:
  const Problem& problem_;
  TableId table_;
  std::deque<RankSet> owned_;
  std::vector<const RankSet*> sets_;
};

}  // namespace shardwright::embedding
