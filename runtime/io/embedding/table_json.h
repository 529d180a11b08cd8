// The members of tables, of their constraints and of table groups in problem files.
#pragma once

#include <string_view>
#include <vector>

#include "core/embedding/problem/table.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Describes the placement constraints of a table.
void describe(JsonMembers& members, embedding::TablePlacement& placement);

// Returns true if the object has placement constraints and no others.
bool is_placement_alone(JsonValue value);

// Describes `keep_together` or `keep_apart`. Must follow the tables. An entry is an object with
// `tables` and `on`, or a list of table names, whose scope is `bare`.
void describe_table_groups(JsonMembers& members, std::string_view key,
                           const std::vector<embedding::Table>& tables, embedding::GroupScope bare,
                           std::vector<embedding::TableGroup>& groups, std::string_view help);

// Returns the error of an unknown table name, with the nearest known name.
Error no_such_table(JsonValue value, std::string_view name,
                    const std::vector<embedding::Table>& tables);

// Describes `tables`. Pooling factors of a table are stored as its constraints.
void describe_tables(JsonMembers& members, std::vector<embedding::Table>& tables);

// Describes `constraints`, an object whose keys are table names. Must follow the tables. A name
// that occurs in several modules stands for all these tables.
void describe_constraints(JsonMembers& members, std::vector<embedding::Table>& tables);

}  // namespace shardwright
