// Translates moves along mesh axes into steps of every rank.
#pragma once

#include <vector>

#include "core/program/rank_placement.h"
#include "core/program/reshard_plan.h"
#include "core/redistribution/placement/move.h"

namespace shardwright::redistribution {

// Appends to `plan` the steps that every rank of the mesh runs for `moves`, and returns the
// placement after the last move. Moves along axes of size 1 are left out. In a ring of messages,
// one rank receives first and the others send first, so blocking sends cannot deadlock.
// Precondition: check_move() holds for each move in turn. O(moves * ranks * ranks per group).
program::RankPlacement append_rank_steps(const Shape& shape, program::RankPlacement source,
                                         const std::vector<Move>& moves,
                                         program::ReshardPlan& plan);

}  // namespace shardwright::redistribution
