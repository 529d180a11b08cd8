// Comma-separated values, with the place of every cell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"

namespace shardwright::internal {

// The first line has the names of columns. The separator is the comma, semicolon or tab that occurs
// first in this line. A cell may be in quotes, within which a quote is doubled (RFC 4180). Spaces
// around other cells are removed. Empty lines are skipped.
// Thread safety: const members may be called from any thread.
class CsvDocument {
 public:
  // Errors: kInvalidInput at "line L" or "line L, column C" for an unterminated quote, a row with
  // more or fewer cells than the first line, and columns without a name or with equal names.
  static Result<CsvDocument> parse(std::string_view text);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t num_rows() const { return lines_.size(); }
  const std::string& cell(std::size_t row, std::size_t column) const {
    return cells_[row * columns_.size() + column];
  }

  // Return "line 7", "line 7, column 3 (data_type)" and "line 1, column 3 (data_type)".
  std::string place(std::size_t row) const { return "line " + std::to_string(lines_[row]); }
  std::string place(std::size_t row, std::size_t column) const;
  std::string place_of_column(std::size_t column) const;

 private:
  Status check_columns(std::size_t line) const;

  std::vector<std::string> columns_;
  std::vector<std::string> cells_;  // row-major
  std::vector<std::size_t> lines_;  // line of each row, from 1
};

// Returns true if the text is no JSON and its first line has a separator.
bool is_tables_csv(std::string_view text);

// The tables of a problem in CSV. Columns are named as the members of a table in JSON. A row is a
// table; an empty cell is an absent member. Features are separated by "|".
// Thread safety: const members may be called from any thread.
class TablesCsv {
 public:
  // Errors: as CsvDocument::parse; kInvalidInput if there is no row.
  static Result<TablesCsv> parse(std::string_view text);

  // Returns the problem as JSON.
  std::string json() const;
  // Changes the place of an error about json(), or about its problem, to line and column.
  Error locate(Error error) const;

 private:
  explicit TablesCsv(CsvDocument document) : document_(std::move(document)) {}

  CsvDocument document_;
};

}  // namespace shardwright::internal
