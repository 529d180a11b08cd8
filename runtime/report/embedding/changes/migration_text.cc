#include "runtime/report/embedding/changes/migration_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/units.h"
#include "runtime/report/embedding/changes/moves_text.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

std::string rating_with_unit(const embedding::Problem& problem, double rating) {
  if (problem.spec().perf_model == embedding::PerfModel::kPerf) return format_ms(rating) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(rating))) + " of HBM";
}

// What the moves buy, in units of the rating.
struct Gain {
  double saved = 0;  // 0 if nothing moves or keeping everything is no plan
  double part = 0;   // of what keeping everything rates
  double saved_per_gib = 0;
};

Gain gain_of(const EmbeddingPlanResult& result) {
  const Migration& migration = *result.migration;
  if (!migration.rating_kept || !result.best_rating || migration.moved_bytes == 0) return {};
  const double saved = std::max(0.0, *migration.rating_kept - *result.best_rating);
  if (saved == 0) return {};
  const double gib = static_cast<double>(migration.moved_bytes) / static_cast<double>(kGibibyte);
  return {saved, saved / *migration.rating_kept, saved / gib};
}

std::string percent_text(double part) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.2g %%", part * 100);
  return text.data();
}

std::string weight_hint(const Gain& gain) {
  std::array<char, 32> weight{};
  std::snprintf(weight.data(), weight.size(), "%.2g", gain.saved_per_gib * 1.1);
  return "moves cost nothing unless --migration-weight says so; with " +
         std::string(weight.data()) + " this much would not move";
}

// What keeping everything rates, and what the moves buy.
std::string gain_text(const embedding::Problem& problem, const EmbeddingPlanResult& result) {
  const Migration& migration = *result.migration;
  if (!migration.rating_kept) return "";
  std::string text =
      "keeping everything rates " + rating_with_unit(problem, *migration.rating_kept);
  const Gain gain = gain_of(result);
  if (gain.saved == 0) return text + "\n";
  text += "; moving " + format_bytes(Bytes(migration.moved_bytes)) + " saves " +
          rating_with_unit(problem, gain.saved) + " (" + percent_text(gain.part) + "), " +
          rating_with_unit(problem, gain.saved_per_gib) + " per GiB\n";
  if (migration.weight > 0) return text;
  return text + weight_hint(gain) + "\n";
}

std::string objective_text(const embedding::Problem& problem, const Migration& migration) {
  if (!migration.objective) return "";
  std::string text =
      "rating + weight x GiB moved is " + rating_with_unit(problem, *migration.objective);
  if (!migration.lower_bound) return text + "\n";
  const double part = gap(*migration.objective, *migration.lower_bound);
  if (part <= kProvenGap) return text + ", which is optimal\n";
  return text + "; no plan has less than " + rating_with_unit(problem, *migration.lower_bound) +
         "\n";
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
    text += rating_with_unit(problem, *migration.rating_before) + " before" +
            (added > 0 ? " (without new tables)" : "");
  } else {
    text += "before: none, since the old plan does not stand: " + migration.not_kept;
  }
  if (result.best_rating) text += "; " + rating_with_unit(problem, *result.best_rating) + " after";
  return text + "\n" + gain_text(problem, result) + objective_text(problem, migration);
}

}  // namespace

std::string migration_summary(const embedding::Problem& problem,
                              const EmbeddingPlanResult& result) {
  if (!result.migration || !result.plan) return "";
  const Migration& migration = *result.migration;
  if (migration.moved_bytes == 0) return "nothing moves";
  std::string text = "moves " + format_bytes(Bytes(migration.moved_bytes));
  const Gain gain = gain_of(result);
  if (gain.saved == 0) return text;
  text +=
      " to save " + rating_with_unit(problem, gain.saved) + " (" + percent_text(gain.part) + ")";
  return migration.weight > 0 ? text : text + "; " + weight_hint(gain);
}

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
