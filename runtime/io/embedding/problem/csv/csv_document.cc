#include "runtime/io/embedding/problem/csv/csv_document.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shardwright::internal {
namespace {

constexpr std::string_view kSeparators = ",;\t";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Reads a text record by record.
class CsvScanner {
 public:
  explicit CsvScanner(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
    const std::string_view first = rest_.substr(0, rest_.find_first_of("\r\n"));
    const std::size_t at = first.find_first_of(kSeparators);
    separator_ = at == std::string_view::npos ? ',' : first[at];
  }

  // Line of the record that was read last.
  std::size_t line() const { return line_; }

  // Reads the next record that is not empty. Returns false at the end of the text.
  Result<bool> next(std::vector<std::string>& cells) {
    for (;;) {
      if (rest_.empty()) return false;
      line_ = next_line_;
      cells.clear();
      SHARDWRIGHT_RETURN_IF_ERROR(read_record(cells));
      if (cells.size() > 1 || !cells.front().empty()) return true;
    }
  }

 private:
  Status read_record(std::vector<std::string>& cells) {
    for (;;) {
      std::string& cell = cells.emplace_back();
      skip_spaces();
      if (rest_.starts_with('"')) {
        SHARDWRIGHT_RETURN_IF_ERROR(read_quoted(cells.size(), cell));
      } else {
        read_plain(cell);
      }
      if (rest_.empty()) return {};
      const char end = rest_.front();
      rest_.remove_prefix(1);
      if (end == separator_) continue;
      if (end == '\r' && rest_.starts_with('\n')) rest_.remove_prefix(1);
      ++next_line_;
      return {};
    }
  }

  bool at_cell_end() const {
    return rest_.empty() || rest_.front() == separator_ || rest_.front() == '\n' ||
           rest_.front() == '\r';
  }

  void skip_spaces() {
    while (!rest_.empty() && !at_cell_end() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }

  void read_plain(std::string& cell) {
    while (!at_cell_end()) {
      cell += rest_.front();
      rest_.remove_prefix(1);
    }
    cell.erase(cell.find_last_not_of(" \t") + 1);
  }

  Status read_quoted(std::size_t column, std::string& cell) {
    const std::string place =
        "line " + std::to_string(next_line_) + ", column " + std::to_string(column);
    rest_.remove_prefix(1);
    for (;;) {
      if (rest_.empty()) return invalid_input(place, "the quote that begins here has no end");
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"' && !rest_.starts_with('"')) break;
      if (c == '"') rest_.remove_prefix(1);
      if (c == '\n') ++next_line_;
      cell += c;
    }
    skip_spaces();
    if (at_cell_end()) return {};
    return invalid_input(place, "more text follows the quote; write a quote within quotes twice");
  }

  std::string_view rest_;
  char separator_ = ',';
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
};

}  // namespace

Result<CsvDocument> CsvDocument::parse(std::string_view text) {
  CsvDocument document;
  CsvScanner scanner(text);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const bool any, scanner.next(document.columns_));
  if (!any) return invalid_input("", "the input is empty");
  SHARDWRIGHT_RETURN_IF_ERROR(document.check_columns(scanner.line()));
  std::vector<std::string> cells;
  for (;;) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const bool more, scanner.next(cells));
    if (!more) return document;
    document.lines_.push_back(scanner.line());
    if (cells.size() != document.columns_.size()) {
      return invalid_input(document.place(document.num_rows() - 1),
                           "has " + std::to_string(cells.size()) +
                               " cells, but the first line names " +
                               std::to_string(document.columns_.size()) +
                               " columns; put a text that holds the separator in quotes");
    }
    std::move(cells.begin(), cells.end(), std::back_inserter(document.cells_));
  }
}

Status CsvDocument::check_columns(std::size_t line) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string place = "line " + std::to_string(line) + ", column " + std::to_string(i + 1);
    if (columns_[i].empty()) return invalid_input(place, "the column has no name");
    if (std::find(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(i),
                  columns_[i]) != columns_.begin() + static_cast<std::ptrdiff_t>(i)) {
      return invalid_input(place, "the column \"" + columns_[i] + "\" occurs twice");
    }
  }
  return {};
}

std::string CsvDocument::place(std::size_t row, std::size_t column) const {
  return place(row) + ", column " + std::to_string(column + 1) + " (" + columns_[column] + ")";
}

std::string CsvDocument::place_of_column(std::size_t column) const {
  return "line 1, column " + std::to_string(column + 1);
}

}  // namespace shardwright::internal
