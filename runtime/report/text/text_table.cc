#include "runtime/report/text/text_table.h"

#include <algorithm>
#include <utility>

#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"

namespace shardwright {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  // a cut column keeps at least this much
constexpr std::size_t kNames = 24;  // names are cut to this width, or to a third, before columns go

std::size_t total_width(const std::vector<std::size_t>& widths, const std::vector<bool>& shown) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    total += shown[i] ? widths[i] + kGap : 0;
  return total;
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells)
    cell = printable_cell(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(display_width(columns_[i].header));
    for (const auto& row : rows_)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

void TextTable::cut_names(std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                          std::size_t width) const {
  const std::size_t least = std::max(kNames, width / 3);
  const std::size_t total = total_width(widths, shown);
  std::size_t& names = widths.front();
  if (columns_.front().align != Align::kLeft || total <= width || names <= least) return;
  names -= std::min(names - least, total - width);
}

void TextTable::cut_widest(std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                           std::size_t width) const {
  for (const Align align : {Align::kLeft, Align::kRight}) {
    while (total_width(widths, shown) > width) {
      std::size_t* widest = nullptr;
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (!shown[i] || columns_[i].align != align || widths[i] <= kNarrowest) continue;
        if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
      }
      if (widest == nullptr) break;
      --*widest;
    }
  }
}

std::vector<bool> TextTable::shown(std::vector<std::size_t> widths, std::size_t width) const {
  std::vector<bool> shown(columns_.size(), true);
  for (const std::size_t column : hidden_)
    shown[column] = false;
  cut_names(widths, shown, width);
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
  cut_names(widths, shown, width);
  cut_widest(widths, shown, width);

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
