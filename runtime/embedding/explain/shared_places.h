// Where one table may be beside the others of a plan, by the rules that name several tables.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright {

// Thread safety: immutable; const members may be called from any thread. Refers to the problem.
class SharedPlaces {
 public:
  // Of the table at a position of the plan; all other tables stay. O(ranks) where groups name it.
  SharedPlaces(const embedding::Problem& problem, const embedding::Plan& plan,
               std::size_t position);

  // All shards must be within one of these sets; a null set allows every rank. Empty: no place.
  const std::vector<const embedding::RankSet*>& sets() const { return sets_; }

  // JSON pointers of the placement rules that leave an option of the table no place: max_shards
  // where it does so alone, else all rules that say where shards may be.
  std::vector<std::string> rules_against(const embedding::ShardingOption& option) const;

 private:
  const embedding::Problem& problem_;
  embedding::TableId table_;
  std::deque<embedding::RankSet> owned_;
  std::vector<const embedding::RankSet*> sets_;
};

}  // namespace shardwright
