// Identities of problems and plans: equal where, and only where, they mean the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"

namespace shardwright {

// `hash` is "problem1:" and 32 hexadecimal digits of SHA-256 over the facts of a problem
// (problem_facts.h) and, where the caller gave a search space, over its options and costs, whatever
// their order. `parts` has 16 digits for every section of the facts, so that two problems can be
// told apart by section.
using ProblemParts = std::vector<std::pair<std::string, std::string>>;
struct ProblemIdentity {
  std::string hash;
  ProblemParts parts;

  friend bool operator==(const ProblemIdentity&, const ProblemIdentity&) = default;
};

// `given` is a search space that stands for enumeration and estimates, or null.
// Cost: O(problem + given options x log).
ProblemIdentity identify(const embedding::Problem& problem,
                         const embedding::SearchSpace* given = nullptr);

// The names of the parts that two problems do not share, such as "topology and tables"; "parts that
// are not recorded" where there is none.
std::string differing_parts(const ProblemParts& a, const ProblemParts& b);

// "search1:" and 32 digits over what steers exact mode beyond the problem's identity: proposers,
// partitioner, and the order of tables and of their constraints' lists. With both equal, exact mode
// decides the same.
std::string search_hash(const embedding::Problem& problem);

// "plan1:" and 32 digits over the sharding type, kernel, load factor and ranks of every table,
// whatever the order of tables. The problem is no part of it.
std::string plan_hash(const embedding::Problem& problem, const embedding::Plan& plan);

}  // namespace shardwright
