#include "runtime/report/migration_text.h"

#include <algorithm>
#include <vector>

#include "runtime/report/format.h"
#include "runtime/report/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kRanksWidth = 20;

std::string rating_text(const embedding::Problem& problem, double rating) {
  if (problem.spec().perf_model == embedding::PerfModel::kPerf) return format_ms(rating) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(rating))) + " of HBM";
}

std::string kind_text(const TablePlace& place) {
  return std::string(to_name(place.sharding_type)) + "." +
         std::string(to_name(place.compute_kernel));
}

std::string ranks_text(const TablePlace& place) {
  std::vector<std::uint32_t> ranks;
  for (const std::int64_t rank : place.ranks)
    ranks.push_back(static_cast<std::uint32_t>(rank));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return format_ranges(ranks, kRanksWidth);
}

std::string summary(const embedding::Problem& problem, const EmbeddingPlanResult& result) {
  const Migration& migration = *result.migration;
  std::size_t added = 0;
  for (const TableMove& move : migration.moves)
    added += move.from ? 0U : 1U;
  std::string text = format_plural(migration.tables_kept, "table") + " kept, " +
                     format_count(migration.moves.size() - added) + " moved (" +
                     format_bytes(Bytes(migration.moved_bytes)) + "), " + format_count(added) +
                     " new (" + format_bytes(Bytes(migration.placed_bytes)) + "), " +
                     format_count(migration.dropped.size()) + " dropped\nrating ";
  if (migration.rating_before) {
    text += rating_text(problem, *migration.rating_before) + " before" +
            (added > 0 ? " (without new tables)" : "");
  } else {
    text += "before: none, since the old plan does not stand: " + migration.not_kept;
  }
  if (result.best_rating) text += "; " + rating_text(problem, *result.best_rating) + " after";
  return text + "\n";
}

}  // namespace

std::string migration_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                              const TextReportOptions& options) {
  if (!result.migration) return "";
  const Migration& migration = *result.migration;
  std::string text = "\nWhat moves\n" + wrap(summary(problem, result), options.width, 2);
  if (migration.moves.empty()) return text;
  std::vector<const TableMove*> moves;
  for (const TableMove& move : migration.moves)
    moves.push_back(&move);
  std::stable_sort(moves.begin(), moves.end(),
                   [](const TableMove* a, const TableMove* b) { return a->bytes > b->bytes; });
  TextTable table({{"table", Align::kLeft, 0},
                   {"bytes", Align::kRight, 0},
                   {"from", Align::kLeft, 2},
                   {"ranks", Align::kLeft, 0},
                   {"to", Align::kLeft, 1},
                   {"ranks", Align::kLeft, 0}});
  const std::size_t shown = std::min(moves.size(), options.max_tables);
  for (std::size_t i = 0; i < shown; ++i) {
    const TableMove& move = *moves[i];
    table.add_row({problem.table(move.table).name, format_bytes(Bytes(move.bytes)),
                   move.from ? kind_text(*move.from) : "new",
                   move.from ? ranks_text(*move.from) : "", kind_text(move.to),
                   ranks_text(move.to)});
  }
  text += table.render(options.width);
  if (shown < moves.size()) {
    text += "  … and " + format_plural(moves.size() - shown, "smaller move") + "\n";
  }
  return text;
}

}  // namespace shardwright
