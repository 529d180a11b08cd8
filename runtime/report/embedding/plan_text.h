// The report of a plan as text.
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
  std::size_t max_ranks = 16;   // rows; equal ranks share one
  std::size_t max_tables = 30;  // rows, the most expensive first
  double read_s = 0;            // time to read the problem
  bool colours = false;         // for a terminal
};

// The whole report: rating, ranks, memory, tables; or why there is no plan.
std::string text_report(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                        const TextReportOptions& options = {});

// The number of options of every table, and the fastest one.
std::string text_report(const embedding::SearchSpace& space, const TextReportOptions& options = {});

// One line on an answer: rating and bound, or that there is no plan; and the limit, if any, that
// ended the search early.
std::string summary_text(const embedding::Problem& problem, const EmbeddingPlanResult& result);

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
// empty without other layouts. O(layouts).
std::string layouts_section(const EmbeddingPlanResult& result, const TextReportOptions& options);

// The first and the last improvements, by work; empty for fewer than two.
std::string improvements_section(const embedding::Problem& problem,
                                 const EmbeddingPlanResult& result,
                                 const TextReportOptions& options);

// A line per group of ranks with the same memory set aside, in the tier that tables fill first.
// Precondition: the result has a plan and a reservation.
std::string memory_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                           const TextReportOptions& options);

// Needs and available memory by tier, and the tables that need most.
std::string needs_section(const embedding::Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options);

// A line per constraint; empty without constraints.
std::string constraints_section(const embedding::Problem& problem,
                                const TextReportOptions& options);

}  // namespace shardwright
