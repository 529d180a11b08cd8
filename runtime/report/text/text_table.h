// Text tables that fit a width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardwright {

// Rows under a header, indented by two spaces, with two spaces between columns. If the table is too
// wide, first long names in the first column are cut. Then columns are left out, all of the highest
// `dispensable` at once. Last, the widest texts are cut, numbers after other texts.
// Thread safety: one thread at a time.
class TextTable {
 public:
  enum class Align : unsigned char { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kRight;
    int dispensable = 0;  // the highest is left out first; 0 = never left out
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Leaves a column out at any width.
  void hide(std::size_t column) { hidden_.push_back(column); }

  // `cells` has one text per column. Texts are escaped.
  void add_row(std::vector<std::string> cells);

  std::string render(std::size_t width) const;

  // Returns true if a table of this width shows the column.
  bool shows(std::size_t column, std::size_t width) const { return shown(widths(), width)[column]; }

 private:
  std::vector<std::size_t> widths() const;
  std::vector<bool> shown(std::vector<std::size_t> widths, std::size_t width) const;
  void cut_names(std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                 std::size_t width) const;
  void cut_widest(std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                  std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> hidden_;
};

}  // namespace shardwright
