// Reads the placement constraints of problem files.
#pragma once

#include <string_view>
#include <vector>

#include "core/embedding/problem/table.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {

// Reads the members `ranks`, `hosts`, `shard_ranks`, `max_shards` and `distinct_ranks` of a table's
// constraints.
void read_placement(ObjectReader& constraints, embedding::TablePlacement& placement);

// Returns true if the object `value` has placement constraints and no other constraints.
bool is_placement_alone(JsonValue value);

// Reads the list under `keep_together` or `keep_apart`. An entry is an object with `tables` and
// `on`, or a list of table names, which has the scope `bare`. Errors: kInvalidInput for an unknown
// table name.
Status read_table_groups(JsonValue list, const std::vector<embedding::Table>& tables,
                         embedding::GroupScope bare, std::vector<embedding::TableGroup>& groups);

// Returns the error for an unknown table name. Suggests the nearest name.
Error no_such_table(JsonValue value, std::string_view name,
                    const std::vector<embedding::Table>& tables);

// Reads the list under `tables`. Pooling factors of tables become constraints.
Status read_tables(JsonValue list, std::vector<embedding::Table>& tables);

// Reads the object under `constraints`, whose keys are table names. A name that occurs in several
// modules applies to each of these tables. Errors: kInvalidInput for an unknown name.
Status read_constraints(JsonValue object, std::vector<embedding::Table>& tables);

}  // namespace shardwright
