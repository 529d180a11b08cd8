// The parts of a report on constraints, and on what tables need if nothing fits.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/result/memory_needs.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright {

// Needs and available memory by tier, and the tables that need most.
std::string needs_section(const embedding::Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options);

// A line per constraint; empty without constraints.
std::string constraints_section(const embedding::Problem& problem,
                                const TextReportOptions& options);

}  // namespace shardwright
