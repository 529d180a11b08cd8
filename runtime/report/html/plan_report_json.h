// Explanations inside the JSON of a plan's page.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/explanation_answer.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/plan_change.h"
#include "runtime/report/embedding/plan_report.h"

namespace shardwright {

// Writes the keys "option_names" and "explained". A table is [table, options, number of options
// left out]. An option is [standing, name, rating, rank that sets the rating, part of this rank's
// time that changes most, change of the part in ms, ms, hbm, ddr, ssd, ranks, obstacle]; standing,
// name and part are numbers. The chosen option comes first, then excluded options that would rate
// better. Numbers have six digits. A page with too many options leaves some out. O(bytes).
void write_explained_tables(const ExplainedTables& explained, JsonWriter& json);

// Writes the key "infeasible": the message, whether it is proved, and changes that help as [change,
// from, to, one step less, flags].
void write_infeasibility(const ExplanationAnswer& explanation, JsonWriter& json);

// Writes frequent records as lists instead of objects. A table is [name, module, rows, columns,
// data type, place]; a place is [sharding type, kernel, load factor, shards, rows of a shard,
// columns of a shard, even, hbm, ddr, ms, runs]; runs are [first rank, count, cost, first rank,
// ...]; a cost is [hbm, ddr, five times in the order of the members of Perf]. If the problem counts
// SSD, the bytes of SSD come last in a place, a cost and the needs. Ranks have one list per
// quantity. The text has no "<", so that it can be put into a page as it is. O(bytes). `explained`
// is written by write_explained_tables(), `change` by write_change() unless it is null.
void write_plan_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink);

// An explanation: of a plan as above, or of why nothing fits.
void write_plan_report(const PlanReport& report, const Explanation& explanation,
                       const ExplanationAnswer& answer, const TextSink& sink);

}  // namespace shardwright
