// The report of a plan as text.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
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

// One line on an answer: rating and bound, or that there is no plan, and what ended the search
// before its time.
std::string summary_text(const embedding::Problem& problem, const EmbeddingPlanResult& result);

}  // namespace shardwright
