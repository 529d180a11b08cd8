// Executes a reshard on arrays, every rank of it: the judge of every plan.
#pragma once

#include <string>

#include "core/program/dist_attr.h"
#include "core/program/reshard_plan.h"

namespace shardwright::program {

// What came of it. `problem` is empty exactly if every target rank ends with its part and nobody
// waits for ever; else it says, in a sentence, what went wrong first.
// Thread safety: a value.
struct Simulation {
  std::string problem;
  bool hangs = false;  // somebody waits for a partner that never comes
  bool sends_to_itself = false;
  bool groups_disagree =
      false;  // a member of a collective is absent from the group or names another

  bool ok() const { return problem.empty(); }
};

// Starts from a tensor of the shape as `source` places it (partial axes hold random terms), runs
// the plan with sends that wait for their receiver, and compares every rank of `target` with its
// part. Knows nothing of how plans are made. O(ranks * elements * steps) time.
// Preconditions: check(source), check(target) hold for the shape.
Simulation simulate(const Shape& shape, const DistAttr& source, const DistAttr& target,
                    const ReshardPlan& plan);

}  // namespace shardwright::program
