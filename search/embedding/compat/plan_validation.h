// The checks that some releases of TorchRec make of a found plan.
#pragma once

#include <optional>

#include "core/embedding/plan.h"
#include "core/embedding/plan_failure.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// Returns why TorchRec refuses a plan of its own search. Returns nothing if its release does not
// check plans, or accepts this plan. O(tables).
// Source: validate_modules_inclusion_in_sharding_plan and validate_compute_kernels,
// torchrec/distributed/planner/planners.py of TorchRec 1.9.2. Its third check, of ranks, cannot
// fail here.
std::optional<PlanFailure> validate_plan(const Problem& problem, const Plan& plan);

}  // namespace shardwright::embedding
