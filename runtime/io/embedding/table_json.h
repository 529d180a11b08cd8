// The members of tables, their constraints and groups in problem files.
#pragma once

#include <string_view>
#include <vector>

#include "core/embedding/problem/table.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// The placement constraints of a table.
void describe(JsonMembers& members, embedding::TablePlacement& placement);

// Returns true if the object `value` has placement constraints and no other constraints.
bool is_placement_alone(JsonValue value);

// The member `keep_together` or `keep_apart`, after the tables. An entry is an object with `tables`
// and `on`, or a list of table names, which has the scope `bare`.
void describe_table_groups(JsonMembers& members, std::string_view key,
                           const std::vector<embedding::Table>& tables, embedding::GroupScope bare,
                           std::vector<embedding::TableGroup>& groups, std::string_view help);

// Returns the error for an unknown table name. Suggests the nearest name.
Error no_such_table(JsonValue value, std::string_view name,
                    const std::vector<embedding::Table>& tables);

// The member `tables`. Pooling factors of tables become constraints.
void describe_tables(JsonMembers& members, std::vector<embedding::Table>& tables);

// The member `constraints`, after the tables: an object whose keys are table names. A name that
// occurs in several modules applies to each of these tables.
void describe_constraints(JsonMembers& members, std::vector<embedding::Table>& tables);

}  // namespace shardwright
