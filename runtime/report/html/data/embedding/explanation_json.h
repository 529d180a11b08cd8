// Explanations inside the JSON of a plan's page.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain/explain.h"
#include "runtime/io/json/json_writer.h"

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

}  // namespace shardwright
