// Words for the parts of an explanation, for its text and its page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "runtime/embedding/explanation_answer.h"
#include "search/embedding/questions/option_costs.h"

namespace shardwright {

// Returns ranges such as "0-7", cut after a few.
std::string rank_list(std::vector<embedding::Rank> ranks);

// Says what excludes an option and what memory it lacks.
std::string obstacle_text(const std::vector<std::string>& excluded_by,
                          const std::optional<embedding::MemoryLack>& lack);

// A change that helps. If the change drops a constraint, only `change` is set.
struct RemedyWords {
  std::string change;  // such as "HBM per rank"
  std::string from, to, step;
  std::string one_step_less;  // such as "is impossible" or "no plan found"
  std::string flags;          // of the command that make the change
};

RemedyWords words_of(const RemedyAnswer& remedy);

// If there is a plan, lists all options of each table, or a row per table if there are many tables.
// If nothing fits, says why and lists the smallest changes that help.
std::string explain_report(const ExplanationAnswer& explanation, std::size_t width);

}  // namespace shardwright
