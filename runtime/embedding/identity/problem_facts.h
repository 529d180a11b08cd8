// What of a problem decides which plans are valid and what they cost, as facts in canonical order.
#pragma once

#include <functional>
#include <string_view>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// One value of a problem: `section` is a key of a problem file, `owner` the full name of a table or
// another member's name (empty where the section itself has the value), `key` the member's own key
// (empty where the owner has the value). Numbers are in decimal, doubles in the shortest form that
// reads back as the same double; lists are joined by ','.
struct ProblemFact {
  std::string_view section;
  std::string_view owner;
  std::string_view key;
  std::string_view value;
};

// Calls `fact` with every fact of the problem, sections in a fixed order, owners sorted. Defaults
// make no fact, so a default that is written out says nothing, and a key that a later version adds
// changes no problem that lacks it. The order of tables, of groups and of what is a set has no
// influence. Neither a fact: the problem's name, what steers the search alone (proposers,
// partitioner, order of enumeration), and what neither a rule nor an estimate reads (names of
// features, pooling, bounds checks, stochastic rounding, algorithm and precision of caches).
// The texts live as long as the call. Cost: O(problem), tables sorted by name.
void for_each_fact(const embedding::Problem& problem,
                   const std::function<void(const ProblemFact&)>& fact);

}  // namespace shardwright
