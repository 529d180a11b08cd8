#include "runtime/report/embedding/changes/moves_text.h"

#include <algorithm>
#include <string_view>

#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kMovesRanksWidth = 20;

std::string kind_text(const TablePlace* place, std::string_view absent) {
  if (place == nullptr) return std::string(absent);
  return std::string(to_name(place->sharding_type)) + "." +
         std::string(to_name(place->compute_kernel));
}

std::string ranks_text(const TablePlace* place) {
  std::vector<std::uint32_t> ranks;
  if (place == nullptr) return "";
  for (const std::int64_t rank : place->ranks)
    ranks.push_back(static_cast<std::uint32_t>(rank));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return format_ranges(ranks, kMovesRanksWidth);
}

}  // namespace

std::string moves_table(std::vector<MoveRow> rows, std::size_t most, std::size_t width) {
  std::stable_sort(rows.begin(), rows.end(), [](const MoveRow& a, const MoveRow& b) {
    return a.bytes.value_or(0) > b.bytes.value_or(0);
  });
  TextTable table({{"table", Align::kLeft, 0},
                   {"bytes", Align::kRight, 0},
                   {"from", Align::kLeft, 2},
                   {"ranks", Align::kLeft, 0},
                   {"to", Align::kLeft, 1},
                   {"ranks", Align::kLeft, 0}});
  const std::size_t shown = std::min(rows.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const MoveRow& row = rows[i];
    table.add_row({row.table, row.bytes ? format_bytes(Bytes(*row.bytes)) : "-",
                   kind_text(row.from, "new"), ranks_text(row.from), kind_text(row.to, "gone"),
                   ranks_text(row.to)});
  }
  std::string text = table.render(width);
  if (shown < rows.size())
    text += "  … and " + format_plural(rows.size() - shown, "smaller move") + "\n";
  return text;
}

}  // namespace shardwright
