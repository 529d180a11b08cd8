// The part of a report on the memory of the ranks.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// A line per group of ranks with the same memory set aside, in the tier that tables fill first.
// Precondition: the result has a plan and a reservation.
std::string memory_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                           const TextReportOptions& options);

}  // namespace shardwright
