// Columns of text that fit a width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardwright {

// Rows under headers, two spaces between columns, two before the first. Where the width does not
// suffice, long names in the first column are cut, then columns are left out, the most dispensable
// first (all of them at once), and then the widest texts are cut, numbers last.
// Thread safety: one thread at a time.
class TextTable {
 public:
  enum class Align : unsigned char { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kRight;
    int dispensable = 0;  // left out in falling order; 0 = never
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Leaves a column out whatever the width.
  void hide(std::size_t column) { hidden_.push_back(column); }

  // One text per column.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string render(std::size_t width) const;

  // Whether the column is there at that width.
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
