#include "runtime/io/embedding/tables_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/io/json/json_scanner.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright::internal {
namespace {

constexpr std::string_view kSeparators = ",;\t";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Reads records one by one.
class CsvScanner {
 public:
  explicit CsvScanner(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
    const std::string_view first = rest_.substr(0, rest_.find_first_of("\r\n"));
    const std::size_t at = first.find_first_of(kSeparators);
    separator_ = at == std::string_view::npos ? ',' : first[at];
  }

  // Line of the last record.
  std::size_t line() const { return line_; }

  // Reads the next non-empty record. Returns false at the end of the text.
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

namespace {

constexpr std::array<std::string_view, 3> kNeeded{"name", "num_embeddings", "embedding_dim"};
// Columns whose cells are text even if they look like numbers.
constexpr std::array<std::string_view, 8> kTexts{"name",    "features", "kind",      "data_type",
                                                 "pooling", "module",   "optimizer", "dependency"};
constexpr std::string_view kTables = "/tables/";
constexpr std::string_view kUnknownKey = "unknown key";

// Lines of json() before the first table.
constexpr std::size_t kLinesBefore = 2;

bool is_text(std::string_view column) {
  return std::find(kTexts.begin(), kTexts.end(), column) != kTexts.end();
}

// Returns true for a number in JSON syntax.
bool is_number(std::string_view cell) {
  JsonScanner scanner(cell);
  ScannedNumber number;
  return scanner.peek() == JsonToken::kNumber && scanner.read_number(number) && scanner.finish();
}

// Returns the value of "true" or "false" in any case; nullopt for other texts.
std::optional<bool> truth_of(std::string_view cell) {
  const auto equals = [&](std::string_view word) {
    return std::equal(cell.begin(), cell.end(), word.begin(), word.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
    });
  };
  if (equals("true")) return true;
  if (equals("false")) return false;
  return std::nullopt;
}

void write_features(std::string_view cell, JsonWriter& json) {
  json.begin_array();
  for (std::size_t begin = 0; begin <= cell.size();) {
    const std::size_t end = std::min(cell.find('|', begin), cell.size());
    json.value(cell.substr(begin, end - begin));
    begin = end + 1;
  }
  json.end_array();
}

void write_cell(std::string_view column, const std::string& cell, JsonWriter& json) {
  json.key(column);
  if (column == "features") return write_features(cell, json);
  if (!is_text(column)) {
    if (const std::optional<bool> truth = truth_of(cell)) {
      json.value(*truth);
      return;
    }
    if (is_number(cell)) {
      json.raw(cell);
      return;
    }
  }
  json.value(cell);
}

// Takes a number and a following slash from the front of a pointer; nullopt if there is none.
std::optional<std::size_t> take_number(std::string_view& pointer) {
  std::size_t number = 0;
  const char* const end = pointer.data() + pointer.size();
  const auto [after, error] = std::from_chars(pointer.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  pointer.remove_prefix(static_cast<std::size_t>(after - pointer.data()));
  if (pointer.starts_with('/')) pointer.remove_prefix(1);
  return number;
}

}  // namespace

bool is_tables_csv(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (begin == std::string_view::npos || text[begin] == '{' || text[begin] == '[') return false;
  const std::string_view line = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  return line.find_first_of(",;\t") != std::string_view::npos &&
         text.find('\0') == std::string_view::npos;
}

Result<TablesCsv> TablesCsv::parse(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(CsvDocument document, CsvDocument::parse(text));
  const std::vector<std::string>& columns = document.columns();
  for (const std::string_view needed : kNeeded) {
    if (std::find(columns.begin(), columns.end(), needed) != columns.end()) continue;
    return invalid_input("line 1", "the column \"" + std::string(needed) +
                                       "\" is missing: a file of tables begins with its columns, "
                                       "such as name,num_embeddings,embedding_dim");
  }
  if (document.num_rows() == 0) return invalid_input("line 2", "there is no table");
  return TablesCsv(std::move(document));
}

std::string TablesCsv::json() const {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object().key("tables").begin_array();
  for (std::size_t row = 0; row < document_.num_rows(); ++row) {
    json.new_line().begin_object();
    for (std::size_t column = 0; column < document_.columns().size(); ++column) {
      const std::string& cell = document_.cell(row, column);
      if (!cell.empty()) write_cell(document_.columns()[column], cell, json);
    }
    json.end_object();
  }
  json.end_array().end_object().finish();
  return text;
}

Error TablesCsv::locate(Error error) const {
  const std::vector<std::string>& columns = document_.columns();
  std::string_view where = error.where;
  if (where.starts_with("line ")) {  // of json(): a cell is not UTF-8
    where.remove_prefix(std::string_view("line ").size());
    const std::size_t row = take_number(where).value_or(kLinesBefore) - kLinesBefore;
    error.where = document_.place(std::min(row, document_.num_rows() - 1));
    constexpr std::string_view kNoJson = "not valid JSON: ";
    if (error.message.starts_with(kNoJson)) error.message.erase(0, kNoJson.size());
    return error;
  }
  if (where.starts_with("--")) return error;  // a flag
  if (!where.starts_with(kTables)) {
    error.where.clear();  // the file has only tables
    return error;
  }
  where.remove_prefix(kTables.size());
  const std::optional<std::size_t> row = take_number(where);
  if (!row || *row >= document_.num_rows()) return error;
  const std::string_view key = where.substr(0, where.find('/'));
  const auto column = std::find(columns.begin(), columns.end(), key);
  const auto index = static_cast<std::size_t>(column - columns.begin());
  if (column == columns.end()) {
    error.where = document_.place(*row);
    constexpr std::string_view kKey = "the key";
    if (error.message.starts_with(kKey)) error.message.replace(0, kKey.size(), "the cell");
  } else if (error.message.starts_with(kUnknownKey)) {
    error.where = document_.place_of_column(index);
    error.message.replace(0, kUnknownKey.size(), "unknown column");
  } else {
    error.where = document_.place(*row, index);
    constexpr std::string_view kQuotes = ", without quotes";
    if (error.message.ends_with(kQuotes))
      error.message.erase(error.message.size() - kQuotes.size());
  }
  return error;
}

}  // namespace shardwright::internal
