// What changes between an old plan and a new one, for people.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// How much moves, ratings before and after, and the tables that move, the largest first. Empty
// where the result has no migration.
std::string migration_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                              const TextReportOptions& options = {});

}  // namespace shardwright
