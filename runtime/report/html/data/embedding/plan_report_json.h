// A report as the JSON of the HTML page.
#pragma once

#include "runtime/embedding/explain/explain.h"
#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/changes/plan_change.h"
#include "runtime/report/embedding/plan/plan_report.h"

namespace shardwright {

// Writes lists instead of objects for what comes in large numbers. A table is [name, module, rows,
// columns, data type, place]; a place is [sharding type, kernel, load factor, shards, rows of a
// shard, columns of a shard, even, hbm, ddr, ms, runs]; runs are [first rank, count, cost, first
// rank, ...]; a cost is [hbm, ddr, five times in the order of the members of Perf]. Where the
// problem counts SSD, its bytes end a place, a cost and what needs say. Ranks have one
// list per quantity. The text has no "<", so that it can be put into a page as it is. O(bytes).
// `explained` is written as in explanation_json.h, `change` as in change_json.h unless it is null.
void write_plan_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink);

// An explanation: of a plan as above, or of why nothing fits.
void write_plan_report(const PlanReport& report, const Explanation& explanation,
                       const TextSink& sink);

}  // namespace shardwright
