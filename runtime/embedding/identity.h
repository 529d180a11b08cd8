// Identities of problems and plans. They are equal if and only if these mean the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"

namespace shardwright {

// `hash` is "problem1:" and 32 hexadecimal digits of SHA-256 over the facts of a problem
// (problem_facts.h) and, if the caller gave a search space, over its options and costs in any
// order. `parts` has 16 digits for every section of the facts and shows in which sections two
// problems differ.
using ProblemParts = std::vector<std::pair<std::string, std::string>>;
struct ProblemIdentity {
  std::string hash;
  ProblemParts parts;

  friend bool operator==(const ProblemIdentity&, const ProblemIdentity&) = default;
};

// `given` is the search space that replaces enumeration and estimates, or null.
// Cost: O(problem + given options x log).
ProblemIdentity identify(const embedding::Problem& problem,
                         const embedding::SearchSpace* given = nullptr);

// The names of the parts in which two problems differ, such as "topology and tables"; "parts that
// are not recorded" if there are none.
std::string differing_parts(const ProblemParts& a, const ProblemParts& b);

// "search1:" and 32 digits over what compat mode depends on beyond the problem's identity:
// proposers, partitioner, and the order of tables and of the lists in their constraints. If both
// hashes are equal, compat mode makes the same decisions.
std::string search_hash(const embedding::Problem& problem);

// "plan1:" and 32 digits over the sharding type, kernel, load factor and ranks of every table, in
// any order of tables. The problem does not count.
std::string plan_hash(const embedding::Problem& problem, const embedding::Plan& plan);

}  // namespace shardwright
