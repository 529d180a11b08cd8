// Differences between plans and between problems, for people.
#pragma once

#include <string>

#include "runtime/embedding/identity/plan_diff.h"
#include "runtime/embedding/identity/problem_diff.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// What moves and what that changes: tables with the most bytes first, the ranks that change most.
std::string diff_report(const PlanDiff& diff, const TextReportOptions& options = {});

// Tables that came and went, and every value that differs.
std::string diff_report(const ProblemDiff& diff, const TextReportOptions& options = {});

}  // namespace shardwright
