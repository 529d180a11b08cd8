// The checks of a found plan that releases of TorchRec make.
#pragma once

#include <optional>

#include "core/embedding/plan.h"
#include "core/embedding/plan_failure.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// Says why TorchRec refuses a plan that its own search found, or nothing if its release does not
// check plans or accepts this one. O(tables).
// Source: validate_modules_inclusion_in_sharding_plan and validate_compute_kernels,
// torchrec/distributed/planner/planners.py of TorchRec 1.9.2. Its third check, of ranks, cannot
// fail here.
std::optional<PlanFailure> validate_plan(const Problem& problem, const Plan& plan);

}  // namespace shardwright::embedding
