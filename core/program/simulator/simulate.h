// Executes a reshard plan on integer arrays. Every planner is tested against it.
#pragma once

#include <string>

#include "core/program/placed/rank_placement.h"
#include "core/program/reshard_plan.h"

namespace shardwright::program {

// `problem` is empty if and only if every target rank ends with its part and no rank waits forever.
// Otherwise it is a sentence about the first failure.
// Thread safety: a value.
struct Simulation {
  std::string problem;
  bool hangs = false;  // a rank waits for a partner that never arrives
  bool sends_to_itself = false;
  bool groups_disagree = false;  // a member of a collective is absent or names another group

  bool ok() const { return problem.empty(); }
};

// Starts from a tensor of the shape as `source` places it, runs the plan with sends that wait for
// their receiver, and compares every rank of `target` with its part. Knows nothing of how plans are
// made. O(ranks * elements * steps) time.
// Preconditions: the placements are of a tensor of the shape.
Simulation simulate(const Shape& shape, const RankPlacement& source, const RankPlacement& target,
                    const ReshardPlan& plan);
// The same for Paddle's placements. Preconditions: check(source), check(target) hold for the shape.
Simulation simulate(const Shape& shape, const DistAttr& source, const DistAttr& target,
                    const ReshardPlan& plan);

}  // namespace shardwright::program
