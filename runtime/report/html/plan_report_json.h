// Plans and explanations as the JSON of a page.
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
// name and part are indices. The chosen option comes first, then excluded options with a better
// rating. Numbers have six digits. Some options are left out if a page would have too many.
// O(bytes).
void write_explained_tables(const ExplainedTables& explained, JsonWriter& json);

// Writes the key "infeasible": the message, whether it is proved, and the changes that help as
// [change, from, to, one step less, flags].
void write_infeasibility(const ExplanationAnswer& explanation, JsonWriter& json);

// Writes a plan. Frequent records are lists:
// - table: [name, module, rows, columns, data type, place]
// - place: [sharding type, kernel, load factor, shards, rows of a shard, columns of a shard, even,
//   hbm, ddr, ms, runs]
// - runs: [first rank, count, cost, first rank, ...]
// - cost: [hbm, ddr, five times in the order of Perf's members]
// Places, costs and needs end with the bytes of SSD if the problem counts SSD. Ranks have one list
// per quantity. `explained` is written by write_explained_tables(); `change`, which may be null, by
// write_change(). The text has no "<". Cost: O(bytes).
void write_plan_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink);

// Writes an explanation of a plan (in the form above), or of why nothing fits.
void write_plan_report(const PlanReport& report, const Explanation& explanation,
                       const ExplanationAnswer& answer, const TextSink& sink);

}  // namespace shardwright
