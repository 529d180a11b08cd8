// The fewest changes of a plan that reach a rating.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/search_space.h"
#include "core/units.h"
#include "search/budget.h"
#include "search/embedding/questions/old_plan.h"

namespace shardwright::embedding {

// A table that gets another option or other ranks. The gain is what the rating falls by if the
// changes before this one are made; it is 0 while another rank is as slow.
struct PlanChange {
  TableId table;
  Assignment from, to;
  std::int64_t moved_bytes = 0;  // see OldPlan::bytes_to_move()
  double gain = 0;               // in units of the rating
  double rating_after = 0;
};

// The changes in the order in which to make them. `owner` keeps their options alive.
struct PlanChanges {
  std::vector<PlanChange> changes;
  double rating_before = 0;
  bool reaches = false;  // the rating of all changes is at most the wanted one
};

// Looks for few changes of `plan` after which no rank is above `wanted` and no memory is exceeded.
// Forward: the slowest rank gives up the table, and with the option and ranks, that lower the sum
// of squares of loads above `wanted` most. Backward: changes that are not needed are taken back,
// small tables first. This begins from `plan`; if that gets stuck, from the tables that `best` cuts
// differently; at last, from all of `best`. The changes are ordered by gain. `old`: `plan` as
// OldPlan. Preconditions: the options of both plans are of `space`; `best` rates at most `wanted`.
// Cost: O(changes x options of the tables of a rank x shards x ranks).
PlanChanges find_fewest_changes(const SearchSpace& space, const Topology& available,
                                const OldPlan& old, const Plan& plan, const Plan& best,
                                double wanted, Budget& budget);

}  // namespace shardwright::embedding
