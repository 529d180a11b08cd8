// Compares two problems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// A fact (problem_facts.h) that differs between two problems.
struct FactDifference {
  std::string place;                // as in a problem file; tables by full name
  std::optional<std::string> from;  // absent if it is the default
  std::optional<std::string> to;
};

struct ProblemDiff {
  std::vector<std::string> tables_added;  // full names, sorted
  std::vector<std::string> tables_removed;
  std::vector<FactDifference> facts;  // by place; not those of added or removed tables
  bool search_differs = false;  // proposers, partitioner or an order that compat mode depends on

  // True if both problems have the same plans at the same costs.
  bool same() const { return tables_added.empty() && tables_removed.empty() && facts.empty(); }
};

// O(facts log facts).
ProblemDiff diff_problems(const embedding::Problem& from, const embedding::Problem& to);

}  // namespace shardwright
