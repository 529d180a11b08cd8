// Why a problem has no plan, in words.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/infeasible_reason.h"

namespace shardwright {

// What does not fit, with names and bytes. For kinds that `reason` has no figures for
// (kReservation, kRules, kSearch) that is what the planner said: `planner_message`.
std::string infeasible_text(const embedding::Problem& problem,
                            const embedding::InfeasibleReason& reason,
                            const std::string& planner_message);

}  // namespace shardwright
