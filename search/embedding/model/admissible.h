// Which choices placement rules admit at all.
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

// Removes every choice whose shards the rules of its table leave no place, alone or together with
// the tables that it is kept together with; and choices that would leave tables kept apart from it
// fewer ranks or hosts than they need at the least. Whether the rest can all be placed at once is
// for the search to find out. Memory plays no part.
// Errors: kInfeasible where a table has no choice left, with the place of the rule that removed the
// last. Cost: O(choices), and for tables with rules O(choices x ranks), more where shards have
// ranks of their own and must be on distinct ones.
Status keep_admissible(const Problem& problem, std::vector<TableChoices>& tables);

}  // namespace shardwright::embedding
