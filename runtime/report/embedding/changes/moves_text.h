// Rows for tables that move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/migration.h"

namespace shardwright {

// A move of a table. `from` is null for a new table, `to` for one that is gone.
struct MoveRow {
  std::string table;
  std::optional<std::int64_t> bytes;
  const TablePlace* from = nullptr;
  const TablePlace* to = nullptr;
};

// At most `most` rows, those with the most bytes first.
std::string moves_table(std::vector<MoveRow> rows, std::size_t most, std::size_t width);

}  // namespace shardwright
