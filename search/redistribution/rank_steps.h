// Translates moves along mesh axes into steps of every rank.
#pragma once

#include <vector>

#include "core/program/rank_placement.h"
#include "core/program/reshard_plan.h"
#include "core/redistribution/placement/move.h"

namespace shardwright::redistribution {

// Appends the steps of every rank of the mesh to `plan`, and returns the placement after them.
// Moves along axes of size 1 are left out. Of two ranks that exchange their tensors, the lower rank
// sends first, so that sends that wait for their receiver cannot deadlock. Precondition:
// check_move() holds for each move in turn. O(moves * ranks * ranks per group).
program::RankPlacement append_rank_steps(const Shape& shape, program::RankPlacement source,
                                         const std::vector<Move>& moves,
                                         program::ReshardPlan& plan);

}  // namespace shardwright::redistribution
