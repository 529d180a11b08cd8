// Reports for people, as plain text.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

struct TextReportOptions {
  std::size_t width = 100;      // columns
  std::size_t max_ranks = 16;   // rows; ranks that are alike share one
  std::size_t max_tables = 30;  // rows, the most expensive first
  double read_s = 0;            // time it took to read the problem
  bool colours = false;         // of a terminal
};

// What was planned, what every rank holds and how long it works, which option every table uses;
// or why there is no plan.
std::string text_report(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                        const TextReportOptions& options = {});

// The options of every table, counted, with the fastest.
std::string text_report(const embedding::SearchSpace& space, const TextReportOptions& options = {});

}  // namespace shardwright
