// Differences between plans and between problems, as text.
#pragma once

#include <string>

#include "runtime/embedding/identity/plan_diff.h"
#include "runtime/embedding/identity/problem_diff.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// What moves and what changes: tables by bytes, then the ranks that change most.
std::string diff_report(const PlanDiff& diff, const TextReportOptions& options = {});

// Tables added and removed, and every value that differs.
std::string diff_report(const ProblemDiff& diff, const TextReportOptions& options = {});

}  // namespace shardwright
