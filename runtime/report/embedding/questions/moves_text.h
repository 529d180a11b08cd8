// Tables that move, as rows of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/migration.h"

namespace shardwright {

// A table on its way; a place is null where the table is new or gone.
struct MoveRow {
  std::string table;
  std::optional<std::int64_t> bytes;
  const TablePlace* from = nullptr;
  const TablePlace* to = nullptr;
};

// The rows with the most bytes first, at most `most` of them.
std::string moves_table(std::vector<MoveRow> rows, std::size_t most, std::size_t width);

}  // namespace shardwright
