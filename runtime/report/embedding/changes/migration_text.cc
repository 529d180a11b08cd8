#include "runtime/report/embedding/changes/migration_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/units.h"
#include "runtime/report/embedding/changes/moves_text.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

std::string rating_text(const embedding::Problem& problem, double rating) {
  if (problem.spec().perf_model == embedding::PerfModel::kPerf) return format_ms(rating) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(rating))) + " of HBM";
}

// What keeping everything rates, and what the moves buy.
std::string gain_text(const embedding::Problem& problem, const EmbeddingPlanResult& result) {
  const Migration& migration = *result.migration;
  if (!migration.rating_kept) return "";
  std::string text = "keeping everything rates " + rating_text(problem, *migration.rating_kept);
  const double saved =
      result.best_rating ? std::max(0.0, *migration.rating_kept - *result.best_rating) : 0;
  if (migration.moved_bytes == 0 || saved == 0) return text + "\n";
  text += "; the moves save " + rating_text(problem, saved);
  const double gib = static_cast<double>(migration.moved_bytes) / static_cast<double>(kGibibyte);
  return text + ", " + rating_text(problem, saved / gib) + " per GiB\n";
}

std::string objective_text(const embedding::Problem& problem, const Migration& migration) {
  if (!migration.objective) return "";
  std::string text = "rating + weight x GiB moved is " + rating_text(problem, *migration.objective);
  if (!migration.lower_bound) return text + "\n";
  const double part = gap(*migration.objective, *migration.lower_bound);
  if (part <= kProvenGap) return text + ", which is optimal\n";
  return text + "; no plan has less than " + rating_text(problem, *migration.lower_bound) + "\n";
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
  return text + "\n" + gain_text(problem, result) + objective_text(problem, migration);
}

}  // namespace

std::string migration_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                              const TextReportOptions& options) {
  if (!result.migration) return "";
  const Migration& migration = *result.migration;
  std::string text = "\nWhat moves\n" + wrap(summary(problem, result), options.width, 2);
  if (migration.moves.empty()) return text;
  std::vector<MoveRow> rows;
  for (const TableMove& move : migration.moves) {
    rows.push_back(
        {problem.table(move.table).name, move.bytes, move.from ? &*move.from : nullptr, &move.to});
  }
  return text + moves_table(std::move(rows), options.max_tables, options.width);
}

}  // namespace shardwright
