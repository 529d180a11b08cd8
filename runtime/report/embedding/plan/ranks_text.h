// The part of a report that says what every rank holds and how long it works.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// A line per group of ranks that are alike, and how even the ranks are. Precondition: the result
// has a plan and a reservation.
std::string ranks_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                          const TextReportOptions& options);

// The parts of a time side by side, `whole` taking `width` cells: blocks in colours, or the letters
// of time_bar_key().
std::string time_bar(const embedding::Perf& parts, double whole, std::size_t width, bool colours);

// What the cells of time_bar() stand for, of the parts that are not 0 in `parts`.
std::string time_bar_key(const embedding::Perf& parts, bool colours);

}  // namespace shardwright
