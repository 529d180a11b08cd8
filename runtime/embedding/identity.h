// Hashes of problems and plans. They are equal if and only if the problems (plans) are equivalent.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"

namespace shardwright {

// `hash` is "problem1:" and 32 hexadecimal digits of SHA-256 over the facts of a problem
// (problem_facts.h). If the caller gave a search space, the hash covers its options and costs, too,
// in any order. `parts` has the name and 16 digits of every section of the facts, to show in which
// sections two problems differ.
using ProblemParts = std::vector<std::pair<std::string, std::string>>;
struct ProblemIdentity {
  std::string hash;
  ProblemParts parts;

  friend bool operator==(const ProblemIdentity&, const ProblemIdentity&) = default;
};

// `given` is the caller's search space, or null if options are enumerated and costs estimated.
// Cost: O(problem + options of `given` x log).
ProblemIdentity identify(const embedding::Problem& problem,
                         const embedding::SearchSpace* given = nullptr);

// Returns the names of the parts in which two problems differ, such as "topology and tables".
// Returns "parts that are not recorded" if no part differs or a list is empty.
std::string differing_parts(const ProblemParts& a, const ProblemParts& b);

// Returns "search1:" and 32 digits over what compat mode depends on beyond the problem's hash:
// proposers, partitioner, the order of tables and the order within their constraints. If both
// hashes of two problems are equal, compat mode makes the same decisions for both.
std::string search_hash(const embedding::Problem& problem);

// Returns "plan1:" and 32 digits over the sharding type, kernel, load factor and ranks of every
// table, independent of the order of tables. Of the problem only the names of tables count.
std::string plan_hash(const embedding::Problem& problem, const embedding::Plan& plan);

}  // namespace shardwright
