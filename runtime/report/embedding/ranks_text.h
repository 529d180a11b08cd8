// The report's section on memory and times of ranks.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan_text.h"

namespace shardwright {

// Returns a line per group of equal ranks, and the balance. Precondition: the result has a plan and
// a reservation.
std::string ranks_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                          const TextReportOptions& options);

// Draws the parts of a time as a bar of coloured blocks, or of the letters of time_bar_key(). The
// time `whole` is `width` cells wide.
std::string time_bar(const embedding::Perf& parts, double whole, std::size_t width, bool colours);

// Returns the key of time_bar() for the parts that are not 0.
std::string time_bar_key(const embedding::Perf& parts, bool colours);

}  // namespace shardwright
