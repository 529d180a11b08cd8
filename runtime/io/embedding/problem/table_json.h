// Reads tables and constraints of problem files.
#pragma once

#include <vector>

#include "core/embedding/problem/table.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// The list under `tables`. Pooling factors that tables carry become constraints.
Status read_tables(JsonValue list, std::vector<embedding::Table>& tables);

// The object under `constraints`, by table name; a name that several modules have constrains each
// of these tables. Errors: a name that no table has.
Status read_constraints(JsonValue object, std::vector<embedding::Table>& tables);

}  // namespace shardwright
