// The statistics of a plan as text.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/plan_stats.h"
#include "runtime/report/embedding/plan_text.h"

namespace shardwright {

// Shows ranks, maxima, critical path, imbalance, memory, kernels, and the most expensive tables.
std::string stats_section(const embedding::Problem& problem, const PlanStats& stats,
                          const TextReportOptions& options = {});

}  // namespace shardwright
