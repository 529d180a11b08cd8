// Words for the parts of an explanation, which its text and its page share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "runtime/embedding/explanation_answer.h"
#include "search/embedding/questions/option_costs.h"

namespace shardwright {

// "0-7", cut to a few ranges.
std::string rank_list(std::vector<embedding::Rank> ranks);

// Returns what excludes an option and what memory it lacks.
std::string obstacle_text(const std::vector<std::string>& excluded_by,
                          const std::optional<embedding::MemoryLack>& lack);

// A change that helps. For a constraint, `change` says which one to drop, and the rest is empty.
struct RemedyWords {
  std::string change;  // "HBM per rank"
  std::string from, to, step;
  std::string one_step_less;  // "is impossible", "no plan found"
  std::string flags;          // of the command
};

RemedyWords words_of(const RemedyAnswer& remedy);

// All options of each table, or a row per table if there are many; or why nothing fits, and the
// smallest changes that help.
std::string explain_report(const ExplanationAnswer& explanation, std::size_t width);

}  // namespace shardwright
