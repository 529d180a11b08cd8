// The part of a report on memory and time of the ranks.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan_text.h"

namespace shardwright {

// A line per group of equal ranks, and the balance. Precondition: the result has a plan and a
// reservation.
std::string ranks_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                          const TextReportOptions& options);

// Draws the parts of a time as a bar, in coloured blocks or in the letters of time_bar_key(). A
// time of `whole` takes `width` cells.
std::string time_bar(const embedding::Perf& parts, double whole, std::size_t width, bool colours);

// The key of time_bar(), for the parts that are not 0 in `parts`.
std::string time_bar_key(const embedding::Perf& parts, bool colours);

}  // namespace shardwright
