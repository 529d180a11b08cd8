// Decides whether a plan of compat mode is correct. Paddle's planner has defects, and best mode
// takes only those of its plans that are correct.
#pragma once

#include "core/program/reshard_plan.h"

namespace shardwright::program {

// For plan_compat() between placements on the same ranks, without partial axes. Returns true if
// every rank is a member of the group that it names, all members name the same group, gathers along
// dimension 0 produce the wanted part, and ranks that gather nothing hold what they cut.
bool gathers_correctly(const ReshardPlan& plan, const Shape& shape, const DistAttr& source,
                       const DistAttr& target);

// For plan_compat() between disjoint meshes, without partial axes. Returns true if the parts that
// each rank receives join into one box.
bool joins_all_parts(const ReshardPlan& plan);

}  // namespace shardwright::program
