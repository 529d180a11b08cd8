#include "runtime/report/text_table.h"

#include <algorithm>

#include "runtime/report/format.h"

namespace shardwright {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  // a cut column keeps at least this much

std::size_t total_width(const std::vector<std::size_t>& widths, const std::vector<bool>& shown) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    total += shown[i] ? widths[i] + kGap : 0;
  return total;
}

}  // namespace

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(display_width(columns_[i].header));
    for (const auto& row : rows_)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::vector<bool> TextTable::shown(const std::vector<std::size_t>& widths,
                                   std::size_t width) const {
  std::vector<bool> shown(columns_.size(), true);
  for (const std::size_t column : hidden_)
    shown[column] = false;
  while (total_width(widths, shown) > width) {
    int most = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (shown[i]) most = std::max(most, columns_[i].dispensable);
    }
    if (most == 0) break;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].dispensable == most) shown[i] = false;
    }
  }
  return shown;
}

std::string TextTable::render(std::size_t width) const {
  std::vector<std::size_t> widths = this->widths();
  const std::vector<bool> shown = this->shown(widths, width);
  if (const std::size_t total = total_width(widths, shown); total > width) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = shown[i] ? widths[i] : 0;
    std::size_t& widest = *std::max_element(widths.begin(), widths.end());
    const std::size_t excess = total - width;
    widest = widest > excess + kNarrowest ? widest - excess : kNarrowest;
  }

  std::string out;
  const auto add = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i]) continue;
      const std::string cell = cut_to(cell_of(i), widths[i]);
      const std::string padding(widths[i] - display_width(cell), ' ');
      line += std::string(kGap, ' ');
      line += columns_[i].align == Align::kLeft ? cell + padding : padding + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add([&](std::size_t i) { return columns_[i].header; });
  for (const auto& row : rows_)
    add([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace shardwright
