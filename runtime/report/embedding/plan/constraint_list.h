// The constraints of a problem as sentences.
#pragma once

#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// A constraint and its tables. A constraint on ranks has no tables.
struct Constraint {
  std::string text;                        // "sharding types table_wise, row_wise"
  std::vector<embedding::TableId> tables;  // ascending
};

// Everything in a problem file that restricts plans or changes their cost. Tables with the same
// constraint share a line, in the order of their first table. Then come groups, memory and
// measurements.
std::vector<Constraint> constraint_list(const embedding::Problem& problem);

}  // namespace shardwright
