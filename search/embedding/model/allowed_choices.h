// Drops the choices that placement rules exclude.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "search/embedding/model/choice.h"

namespace shardwright::embedding {

// A table with its choices, in proposal order.
struct TableChoices {
  TableId id;
  std::vector<Choice> choices;
};

// Keeps the choices that have a place under the rules of their table, and on one rank or host with
// the tables that must be together with it. For tables that must be apart, it drops a choice that
// needs so many ranks or hosts that too few are left for the others. What is kept may still not fit
// together: the search finds that out. Memory is ignored.
// Errors: kInfeasible if a table has no choice left, with the place of the rule that removed the
// last one. Time: O(choices), and O(choices x ranks) for tables with rules; more if every shard has
// its own allowed ranks and all must be on distinct ranks.
Status keep_allowed(const Problem& problem, std::vector<TableChoices>& tables);

}  // namespace shardwright::embedding
