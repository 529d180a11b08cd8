// Considers the plans between two plans, table by table.
#pragma once

#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/questions/replan/blend/blend_incumbent.h"

namespace shardwright::embedding {

// Goes from one plan to another table by table; tables that must stay together change at once. Each
// step is the one whose plan has the least PlanCost, and every plan on the way is considered. If
// that would take too long, goes through the tables once, makes only the steps that lower the cost,
// and considers the last plan. An interrupted
// budget ends it early; its work limit does not. Precondition: both plans have the same tables in the same order.
// Cost: O(tables² x (shards + ranks)), at most 30 million updates of shards and ranks.
void walk(const Plan& from, const Plan& to, BlendIncumbent& incumbent, Budget& budget);

}  // namespace shardwright::embedding
