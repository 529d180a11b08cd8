// A text of comma-separated values, in which every cell knows its place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"

namespace shardwright::internal {

// The first line names the columns. The separator is a comma, a semicolon or a tab, whichever the
// first line has first. Cells may be in quotes, within which a quote is written twice (RFC 4180);
// other cells lose the spaces around them. Empty lines are skipped.
// Thread safety: const members may be called from any thread.
class CsvDocument {
 public:
  // Errors: kInvalidInput at "line L" or "line L, column C", for a quote without an end, a row that
  // has more or fewer cells than the first line, and columns without a name or of the same name.
  static Result<CsvDocument> parse(std::string_view text);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t num_rows() const { return lines_.size(); }
  const std::string& cell(std::size_t row, std::size_t column) const {
    return cells_[row * columns_.size() + column];
  }

  // "line 7", "line 7, column 3 (data_type)", "line 1, column 3 (data_type)".
  std::string place(std::size_t row) const { return "line " + std::to_string(lines_[row]); }
  std::string place(std::size_t row, std::size_t column) const;
  std::string place_of_column(std::size_t column) const;

 private:
  Status check_columns(std::size_t line) const;

  std::vector<std::string> columns_;
  std::vector<std::string> cells_;  // row by row
  std::vector<std::size_t> lines_;  // on which rows begin, from 1
};

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
  // Moves the place of an error about json(), or the problem read from it, to line and column.
  Error locate(Error error) const;

 private:
  explicit TablesCsv(CsvDocument document) : document_(std::move(document)) {}

  CsvDocument document_;
};

}  // namespace shardwright::internal
