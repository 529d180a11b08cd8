// Which rank of an allocation should be which rank of the machine, so that the least bytes move.
#pragma once

#include <cstdint>

#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/questions/replan/move_costs.h"

namespace shardwright::embedding {

// The allocation with its ranks exchanged so that its moves cost least: hosts with hosts, and ranks
// with ranks of their host. The Hungarian method finds the cheapest ranks for every pair of hosts,
// then the cheapest hosts. Shards that lie in rank order (blocks of whole hosts, choices on all
// ranks) keep that order. On equal ranks without rules of their own the rating stays the same;
// elsewhere the caller must rate the answer anew. Takes label_work().
Allocation relabel_ranks(const ChoiceModel& model, const MoveCosts& costs,
                         const Allocation& allocation);

// The work of relabel_ranks(), in updates of a rank: O(shards x ranks + hosts^2 x
// local_world_size^3 + hosts^3).
std::uint64_t label_work(const ChoiceModel& model, const Allocation& allocation);

}  // namespace shardwright::embedding
