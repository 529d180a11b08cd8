// The migration from an old plan to a new one, as text.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// Bytes moved, ratings before and after, and the tables that move, the largest first. Empty without
// a migration.
std::string migration_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                              const TextReportOptions& options = {});

// Half a line: "moves 3.1 GiB to save 0.36 ms (5 %)", and how to move less if no weight was given.
// Empty without a migration or a plan.
std::string migration_summary(const embedding::Problem& problem, const EmbeddingPlanResult& result);

}  // namespace shardwright
