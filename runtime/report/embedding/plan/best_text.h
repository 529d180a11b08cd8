// Ratings, bounds and improvements as text.
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

// How a bound is proved: "a tree of 12 cases".
std::string proof_text(const embedding::BoundCertificate& certificate);

// A line on how far the plan can be from optimal, and the proof; empty without a bound.
// Precondition: the result has a rating.
std::string bound_text(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                       bool colours = false);

// The layouts of the machine that best mode chose from, each with its plan's rating and bound;
// empty if it had no choice. O(layouts).
std::string layouts_section(const EmbeddingPlanResult& result, const TextReportOptions& options);

// The first and the last improvements, by work; empty for fewer than two.
std::string improvements_section(const embedding::Problem& problem,
                                 const EmbeddingPlanResult& result,
                                 const TextReportOptions& options);

}  // namespace shardwright
