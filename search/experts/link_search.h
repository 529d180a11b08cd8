// The second objective: among placements that are as fast, one whose tokens cross cheaper links.
#pragma once

#include "core/experts/expert_plan.h"
#include "core/experts/expert_problem.h"
#include "core/experts/link_cost.h"
#include "search/budget.h"

namespace shardwright::experts {

// Lowers what the tokens of a layer cost: exchanges all slots of two GPUs, or two slots, as long as
// that is cheaper. No window's busiest GPU becomes busier, no more slots move from `old` (null =
// none), and the rules that the placement keeps stay kept. `problem`: of the layer, see
// layer_problem(). O(slots^2) per pass over all exchanges.
void lower_link_cost(const ExpertProblem& problem, const LinkTable& links, std::size_t layer,
                     const Expert* old, Expert* slots, StopCheck& stop);

}  // namespace shardwright::experts
