// A problem with one layout of its machine.
#pragma once

#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright {

// Returns `problem` with this layout. Errors: kInvalidInput if the machine cannot have it, or a
// rule or a list by rank does not fit it.
Result<std::shared_ptr<const embedding::Problem>> layout_problem(
    const embedding::Problem& problem, const embedding::MachineLayout& layout);

// Returns the problem that a plan answers: `problem`, with the layout of the plan if the problem
// leaves the layout open. Errors: as layout_problem().
Result<std::shared_ptr<const embedding::Problem>> problem_of_plan(
    std::shared_ptr<const embedding::Problem> problem, const PlanDocument& document);

}  // namespace shardwright
