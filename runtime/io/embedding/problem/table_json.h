// Reads the tables and constraints of problem files.
#pragma once

#include <vector>

#include "core/embedding/problem/table.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Reads the list under `tables`. Pooling factors of tables become constraints.
Status read_tables(JsonValue list, std::vector<embedding::Table>& tables);

// Reads the object under `constraints`, whose keys are table names. A name that occurs in several
// modules applies to each of these tables. Errors: kInvalidInput for an unknown name.
Status read_constraints(JsonValue object, std::vector<embedding::Table>& tables);

}  // namespace shardwright
