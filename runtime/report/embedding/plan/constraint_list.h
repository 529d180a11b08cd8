// What a user demands of a plan, as sentences.
#pragma once

#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// A demand and the tables that it names; none = it is about ranks.
struct Constraint {
  std::string text;                        // "sharding types table_wise, row_wise"
  std::vector<embedding::TableId> tables;  // ascending
};

// Everything in a problem file that narrows the choice of plans or changes what they cost: a line
// per demand, tables of which the same is demanded together, in the order of their first table;
// then groups, memory and measurements.
std::vector<Constraint> constraint_list(const embedding::Problem& problem);

}  // namespace shardwright
