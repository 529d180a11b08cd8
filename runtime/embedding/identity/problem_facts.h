// The facts of a problem that decide which plans are valid and what they cost, in canonical order.
#pragma once

#include <functional>
#include <string_view>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// One value of a problem. `section` is a key of a problem file; `owner` the full name of a table or
// of another member, empty if the value is the section's; `key` the member's key, empty if the
// value is the owner's. Numbers are decimal, doubles in the shortest form that reads back as the
// same double; lists are joined by ','.
struct ProblemFact {
  std::string_view section;
  std::string_view owner;
  std::string_view key;
  std::string_view value;
};

// Calls `fact` with every fact of the problem: sections in a fixed order, owners sorted, so the
// order of tables, groups and sets does not matter. A default value is no fact: whether a file
// writes it out does not matter, and a key that a later version adds does not change problems that
// lack it. Nor are these facts: the problem's name, what steers only the search (proposers,
// partitioner, order of enumeration), and what no rule or estimate reads (names of features,
// pooling, bounds checks, stochastic rounding, algorithm and precision of caches). The texts are
// valid during the call. Cost: O(problem), tables sorted by name.
void for_each_fact(const embedding::Problem& problem,
                   const std::function<void(const ProblemFact&)>& fact);

}  // namespace shardwright
