// The difference between two plans or problems, as the JSON of a page.
#pragma once

#include "runtime/embedding/problem_diff.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/plan_change.h"

namespace shardwright {

// Writes the key "change". Records are lists. A table is [name, what, bytes, place before, place
// after]; a place is [sharding type, kernel, [first rank, count, ...]]; a rank is [ms before,
// after, hbm before, after, ddr before, after]; a flow is [first block, second block, bytes]. Cost:
// O(tables + shards + blocks^2).
void write_change(const PlanChange& change, JsonWriter& json);

// Write all data of a page. The text has no "<".
void write_change_data(const PlanChange& change, const TextSink& sink);
void write_change_data(const ProblemDiff& diff, const TextSink& sink);

}  // namespace shardwright
