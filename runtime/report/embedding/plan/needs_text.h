// The parts of a report that say what the user demands, and what tables need where nothing fits.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/result/memory_needs.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// Needs against what ranks have, by tier, and the tables that need the most.
std::string needs_section(const embedding::Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options);

// A line per constraint; nothing without.
std::string constraints_section(const embedding::Problem& problem,
                                const TextReportOptions& options);

}  // namespace shardwright
