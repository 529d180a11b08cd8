// Ratings, bounds and the way to them, as plain text.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// "8.116 ms", or bytes for the storage model.
std::string rating_text(const embedding::Problem& problem, double rating);

// " (best mode)".
std::string mode_text(PlanMode mode);

// What shows a bound: "a tree of 12 cases".
std::string proof_text(const embedding::BoundCertificate& certificate);

// How far the plan may be from optimal, and what shows it; a line, or nothing without a bound.
// Precondition: the result has a rating.
std::string bound_text(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                       bool colours = false);

// The first and the last improvements, by the work that they took; nothing for fewer than two.
std::string improvements_section(const embedding::Problem& problem,
                                 const EmbeddingPlanResult& result,
                                 const TextReportOptions& options);

}  // namespace shardwright
