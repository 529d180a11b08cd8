// Compares two problems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// A fact (problem_facts.h) in which two problems differ.
struct FactDifference {
  std::string place;                // as in a problem file, tables by their full names
  std::optional<std::string> from;  // absent: the default
  std::optional<std::string> to;
};

struct ProblemDiff {
  std::vector<std::string> tables_added;  // full names, sorted
  std::vector<std::string> tables_removed;
  std::vector<FactDifference> facts;  // by place; without those of added and removed tables
  bool search_differs = false;        // proposers, partitioner or an order that compat mode follows

  // True if every plan of one is a plan of the other, at the same cost.
  bool same() const { return tables_added.empty() && tables_removed.empty() && facts.empty(); }
};

// O(facts log facts).
ProblemDiff diff_problems(const embedding::Problem& from, const embedding::Problem& to);

}  // namespace shardwright
