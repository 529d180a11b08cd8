// Writes the changes from an old plan to a new one as JSON.
#pragma once

#include "core/embedding/document/migration.h"
#include "core/embedding/problem/problem.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes {"sharding_type", "compute_kernel", "load_factor", "ranks"}.
void write_place(const TablePlace& place, JsonWriter& json);

// Writes the value of `migration` in a plan file. O(ranks of moved tables).
void write_migration(const embedding::Problem& problem, const Migration& migration,
                     JsonWriter& json);

}  // namespace shardwright
