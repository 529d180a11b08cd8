// The text report of a plan.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

struct TextReportOptions {
  std::size_t width = 100;      // columns
  std::size_t max_ranks = 16;   // rows; equal ranks share a row
  std::size_t max_tables = 30;  // rows; the most expensive tables come first
  double read_s = 0;            // seconds for reading the problem
  bool colours = false;         // if the text is for a terminal
};

// Returns the whole report: rating, ranks, memory and tables, or why there is no plan.
std::string text_report(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                        const TextReportOptions& options = {});

// Lists for every table the number of its options and the fastest option.
std::string text_report(const embedding::SearchSpace& space, const TextReportOptions& options = {});

// Returns one line: rating and bound, or that there is no plan; any limit that ended the search.
std::string summary_text(const embedding::Problem& problem, const EmbeddingPlanResult& result);

// Returns a rating such as "8.116 ms", in bytes for the storage model.
std::string rating_text(const embedding::Problem& problem, double rating);

// Returns " (best mode)" or " (compat mode)".
std::string mode_text(PlanMode mode);

// Says how a bound is proved, such as "a tree of 12 cases".
std::string proof_text(const embedding::BoundCertificate& certificate);

// Returns a line that says how far the plan can be from optimal, and what proves this. Empty
// without a bound. Precondition: the result has a rating.
std::string bound_text(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                       bool colours = false);

// Lists the layouts from which best mode chose, with rating and bound. Empty if there was no
// choice. Cost: O(layouts).
std::string layouts_section(const EmbeddingPlanResult& result, const TextReportOptions& options);

// Lists the first and the last improvements, by work. Empty for fewer than two improvements.
std::string improvements_section(const embedding::Problem& problem,
                                 const EmbeddingPlanResult& result,
                                 const TextReportOptions& options);

// Returns a line per group of ranks with the same reserved memory, for the memory tier that tables
// fill first. Precondition: the result has a plan and a reservation.
std::string memory_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                           const TextReportOptions& options);

// Lists needed and available memory by tier, and the tables that need most.
std::string needs_section(const embedding::Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options);

// Returns a line per constraint; empty if there are none.
std::string constraints_section(const embedding::Problem& problem,
                                const TextReportOptions& options);

}  // namespace shardwright
