// Rows of a report whose paths differ only in a number become one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/report/text/format.h"

namespace shardwright {

// A dotted path without its first part that is a number.
struct FoldedPath {
  std::string before;  // "layers."
  std::string after;   // ".attention.weight"
  bool has_number = false;
  std::uint32_t number = 0;
};
FoldedPath fold_path(std::string_view path);

// Equal rows of paths such as "layers.0.weight" and "layers.1.weight", in order of appearance.
// Thread safety: one thread at a time.
template <class Row>
class FoldedRows {
 public:
  void add(std::string_view path, Row row) {
    const FoldedPath folded = fold_path(path);
    for (Group& group : groups_) {
      if (!folded.has_number || !group.path.has_number || !(group.row == row)) continue;
      if (group.path.before != folded.before || group.path.after != folded.after) continue;
      group.numbers.push_back(folded.number);
      return;
    }
    groups_.push_back({folded, std::move(row), {folded.number}});
  }

  // Calls visit(path, row, number of rows).
  template <class Visit>
  void for_each(const Visit& visit) const {
    constexpr std::size_t kWidth = 16;
    for (const Group& group : groups_) {
      std::vector<std::uint32_t> numbers = group.numbers;
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      const std::string number =
          group.path.has_number ? format_ranges(numbers, kWidth) : std::string();
      visit(group.path.before + number + group.path.after, group.row, group.numbers.size());
    }
  }

 private:
  struct Group {
    FoldedPath path;
    Row row;
    std::vector<std::uint32_t> numbers;
  };
  std::vector<Group> groups_;
};

}  // namespace shardwright
