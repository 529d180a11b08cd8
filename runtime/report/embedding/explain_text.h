// Words for the parts of an explanation, which its text and its page share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain.h"
#include "search/embedding/questions/option_costs.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {

// "0-7", cut to a few ranges.
std::string rank_list(std::vector<embedding::Rank> ranks);

// Returns what excludes an option or what memory it lacks; empty for a possible option.
std::string obstacle_text(const embedding::OptionCost& cost);

// A change that helps. For a constraint, `change` says which one to drop, and the rest is empty.
struct RemedyWords {
  std::string change;  // "HBM per rank"
  std::string from, to, step;
  std::string one_step_less;  // "is impossible", "no plan found"
  std::string flags;          // of the command
};

RemedyWords words_of(const embedding::Problem& problem, const embedding::Remedy& remedy);

// All options of each table, or a row per table if there are many; or why nothing fits, and the
// smallest changes that help.
std::string explain_report(const Explanation& explanation, std::size_t width);

}  // namespace shardwright
