// What a report says, as the data of a page.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/plan/plan_report.h"

namespace shardwright {

// Lists instead of objects where there are many: a table is [name, module, rows, columns, data
// type, place], a place [sharding type, kernel, load factor, shards, rows of a shard, columns of a
// shard, even, hbm, ddr, ms, runs], runs [first rank, count, cost, first rank, ...], a cost [hbm,
// ddr, five times in the order of the members of Perf]. Per rank one list per quantity.
// Without "<", so that it may stand in a page as it is. O(bytes).
void write_plan_report(const PlanReport& report, const TextSink& sink);

}  // namespace shardwright
