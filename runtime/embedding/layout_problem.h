// A problem with one layout of its machine.
#pragma once

#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright {

// Returns `problem` with this layout. Errors: kInvalidInput if the machine cannot have the layout,
// or if a placement rule or a list with one entry per rank does not suit it.
Result<std::shared_ptr<const embedding::Problem>> layout_problem(
    const embedding::Problem& problem, const embedding::MachineLayout& layout);

// Returns the problem for which the plan of `document` was made: `problem`, with the plan's layout
// if `problem` leaves the layout open. Errors: as layout_problem().
Result<std::shared_ptr<const embedding::Problem>> problem_of_plan(
    std::shared_ptr<const embedding::Problem> problem, const PlanDocument& document);

}  // namespace shardwright
