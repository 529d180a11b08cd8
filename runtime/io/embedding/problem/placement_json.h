// Reads placement constraints of problem files.
#pragma once

#include <string_view>
#include <vector>

#include "core/embedding/problem/placement_spec.h"
#include "core/embedding/problem/table.h"
#include "core/status.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {

// Reads the members `ranks`, `hosts`, `shard_ranks`, `max_shards` and `distinct_ranks` of a table's
// constraints.
void read_placement(ObjectReader& constraints, embedding::TablePlacement& placement);

// Whether the constraints under `value` say where shards may be and nothing else.
bool is_placement_alone(JsonValue value);

// The list under `keep_together` or `keep_apart`: objects with `tables` and `on`, or bare lists of
// table names, which mean `bare`. Errors: a name that no table has.
Status read_table_groups(JsonValue list, const std::vector<embedding::Table>& tables,
                         embedding::GroupScope bare, std::vector<embedding::TableGroup>& groups);

// That no table is named so, and which may be meant.
Error no_such_table(JsonValue value, std::string_view name,
                    const std::vector<embedding::Table>& tables);

}  // namespace shardwright
