// Tables of a problem as comma-separated values, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"
#include "runtime/io/embedding/problem/csv/csv_document.h"

namespace shardwright::internal {

// Returns true if a text is no JSON and its first line has a separator of values.
bool is_tables_csv(std::string_view text);

// A problem with nothing but tables. The columns are named as the members of a table in JSON, a row
// is a table, and an empty cell is a member that is not there. Features are separated by "|".
// Thread safety: const members may be called from any thread.
class TablesCsv {
 public:
  // Errors: as CsvDocument::parse; kInvalidInput if there is no row.
  static Result<TablesCsv> parse(std::string_view text);

  // The problem as JSON.
  std::string json() const;
  // An error about json(), or about the problem that was read from it, at its line and column.
  Error locate(Error error) const;

 private:
  explicit TablesCsv(CsvDocument document) : document_(std::move(document)) {}

  CsvDocument document_;
};

}  // namespace shardwright::internal
