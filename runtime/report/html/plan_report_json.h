// Explanations inside the JSON of a plan's page.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/plan_change.h"
#include "runtime/report/embedding/plan_report.h"

namespace shardwright {

// The keys "option_names" and "explained". Of a table: [table, options, how many are left out]; of
// an option: [standing, name, rating, rank that sets it, part, ms that the part changes by, ms,
// hbm, ddr, ssd, ranks, what hinders it] with places in the lists of names. The chosen option comes
// first, then those that would be better but are hindered. Numbers have six digits. Options are
// left out where a page would have too many. O(bytes).
void write_explained_tables(const ExplainedTables& explained, JsonWriter& json);

// The key "infeasible": the message, whether it is proved, and changes that help as [change, from,
// to, one step less, flags].
void write_infeasibility(const embedding::Problem& problem, const Infeasibility& reason,
                         JsonWriter& json);

// Writes frequent records as lists instead of objects. A table is [name, module, rows, columns,
// data type, place]; a place is [sharding type, kernel, load factor, shards, rows of a shard,
// columns of a shard, even, hbm, ddr, ms, runs]; runs are [first rank, count, cost, first rank,
// ...]; a cost is [hbm, ddr, five times in the order of the members of Perf]. Where the problem
// counts SSD, its bytes end a place, a cost and what needs say. Ranks have one
// list per quantity. The text has no "<", so that it can be put into a page as it is. O(bytes).
// `explained` is written by write_explained_tables(), `change` by write_change() unless it is null.
void write_plan_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink);

// An explanation: of a plan as above, or of why nothing fits.
void write_plan_report(const PlanReport& report, const Explanation& explanation,
                       const TextSink& sink);

}  // namespace shardwright
