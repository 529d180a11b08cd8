#include "runtime/report/embedding/changes_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/units.h"
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

namespace {

std::string rating_with_unit(const embedding::Problem& problem, double rating) {
  if (problem.spec().perf_model == embedding::PerfModel::kPerf) return format_ms(rating) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(rating))) + " of HBM";
}

// The gain from the moves of a replan, in units of the rating.
struct Gain {
  double saved = 0;  // 0 if nothing moves, or if keeping everything is no valid plan
  double part = 0;   // `saved` as a fraction of the rating without moves
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

// Returns the rating of the plan without moves, and what the moves save.
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
  if (migration.weight > 0 || !result.front.empty()) return text;
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
  text += "\n" + gain_text(problem, result);
  return result.front.empty() ? text + objective_text(problem, migration) : text;
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
  const bool is_weighed = migration.weight > 0 || !result.front.empty();
  return is_weighed ? text : text + "; " + weight_hint(gain);
}

namespace {

// Lists the plans to choose from: bytes moved and rating.
std::string front_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                          const TextReportOptions& options) {
  if (result.front.size() < 2) return "";
  TextTable table({{"moved", Align::kRight, 0},
                   {"rating", Align::kRight, 0},
                   {"--migration-weight", Align::kRight, 1},
                   {"", Align::kLeft, 0}});
  for (const ReplanPoint& point : result.front) {
    const bool is_chosen = point.moved_bytes == result.migration->moved_bytes;
    table.add_row({format_bytes(Bytes(point.moved_bytes)), rating_with_unit(problem, point.rating),
                   format_ms(point.weight), is_chosen ? "chosen" : ""});
  }
  std::string text = table.render(options.width);
  if (!result.front_bound) return text;
  const double part = gap(*result.best_rating, *result.front_bound);
  return text + wrap("no plan that moves at most " + format_bytes(Bytes(result.front_bytes)) +
                         (part <= kProvenGap
                              ? " rates lower (proved)"
                              : " rates below " + rating_with_unit(problem, *result.front_bound)),
                     options.width, 2);
}

}  // namespace

std::string migration_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                              const TextReportOptions& options) {
  if (!result.migration) return "";
  const Migration& migration = *result.migration;
  std::string text = "\nWhat moves\n" + wrap(summary(problem, result), options.width, 2) +
                     front_section(problem, result, options);
  if (migration.moves.empty()) return text;
  std::vector<MoveRow> rows;
  for (const TableMove& move : migration.moves) {
    rows.push_back(
        {problem.table(move.table).name, move.bytes, move.from ? &*move.from : nullptr, &move.to});
  }
  return text + moves_table(std::move(rows), options.max_tables, options.width);
}

namespace {

using Align = TextTable::Align;

constexpr std::size_t kValueWidth = 32;

std::string signed_text(double difference, const std::string& size) {
  return (difference < 0 ? "-" : "+") + size;
}

std::string ms_change(const Change<double>& change) {
  if (!change.from || !change.to) return "";
  const double difference = *change.to - *change.from;
  return difference == 0 ? "" : signed_text(difference, format_ms(std::abs(difference)));
}

std::string bytes_change(const Change<std::int64_t>& change) {
  if (!change.from || !change.to || *change.from == *change.to) return "";
  const std::int64_t difference = *change.to - *change.from;
  return signed_text(difference < 0 ? -1 : 1, format_bytes(Bytes(std::abs(difference))));
}

std::string bytes_text(const std::optional<std::int64_t>& bytes) {
  return bytes ? format_bytes(Bytes(*bytes)) : "-";
}

std::string summary(const PlanDiff& diff) {
  const auto bytes = [](const std::optional<std::int64_t>& known) {
    return known ? format_bytes(Bytes(*known)) : std::string("bytes unknown");
  };
  std::string text =
      format_plural(diff.tables_kept, "table") + " in place, " + format_count(diff.tables_moved) +
      " moved (" + bytes(diff.moved_bytes) + "), " + format_count(diff.tables_added) + " added (" +
      bytes(diff.placed_bytes) + "), " + format_count(diff.tables_removed) + " removed\n";
  if (diff.rating.from && diff.rating.to) {
    const std::string change = ms_change(diff.rating);
    text += "rating " + format_ms(*diff.rating.from) + " before, " + format_ms(*diff.rating.to) +
            " after" + (change.empty() ? "" : " (" + change + ")") + "\n";
  }
  if (diff.same_problem.has_value() && !*diff.same_problem) {
    text += "made for different problems, which differ in " +
            printable(diff.problem_differs_in.value_or("parts that are not recorded")) +
            ": ratings and memory are not those of one problem\n";
  }
  return text;
}

double size_of(const RankDifference& rank) {
  const auto part = [](const auto& change) {
    if (!change.from || !change.to) return 1.0;
    const double from = static_cast<double>(*change.from), to = static_cast<double>(*change.to);
    return from == to ? 0.0 : std::abs(to - from) / std::max(std::abs(from), std::abs(to));
  };
  return std::max({part(rank.perf_ms), part(rank.hbm_bytes), part(rank.ddr_bytes),
                   rank.ssd_bytes ? part(*rank.ssd_bytes) : 0.0});
}

std::string ranks_section(const PlanDiff& diff, std::size_t width) {
  std::vector<std::pair<double, std::size_t>> changed;
  for (std::size_t rank = 0; rank < diff.ranks.size(); ++rank) {
    if (const double size = size_of(diff.ranks[rank]); size > 0) changed.emplace_back(size, rank);
  }
  if (changed.empty()) return "";
  std::stable_sort(changed.begin(), changed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kSsdChange = 8;
  TextTable table({{"rank", Align::kRight, 0},
                   {"ms before", Align::kRight, 3},
                   {"after", Align::kRight, 3},
                   {"change", Align::kRight, 0},
                   {"HBM before", Align::kRight, 2},
                   {"after", Align::kRight, 2},
                   {"change", Align::kRight, 0},
                   {"DDR change", Align::kRight, 1},
                   {"SSD change", Align::kRight, 1}});
  const std::size_t shown = std::min(changed.size(), TextReportOptions().max_ranks);
  const auto ms = [](const std::optional<double>& time) { return time ? format_ms(*time) : "-"; };
  for (std::size_t i = 0; i < shown; ++i) {
    const RankDifference& rank = diff.ranks[changed[i].second];
    table.add_row({std::to_string(changed[i].second), ms(rank.perf_ms.from), ms(rank.perf_ms.to),
                   ms_change(rank.perf_ms), bytes_text(rank.hbm_bytes.from),
                   bytes_text(rank.hbm_bytes.to), bytes_change(rank.hbm_bytes),
                   bytes_change(rank.ddr_bytes),
                   rank.ssd_bytes ? bytes_change(*rank.ssd_bytes) : ""});
  }
  const bool has_ssd =
      std::any_of(diff.ranks.begin(), diff.ranks.end(),
                  [](const RankDifference& rank) { return rank.ssd_bytes.has_value(); });
  if (!has_ssd) table.hide(kSsdChange);
  std::string text = "\nRanks that change, the most first\n" + table.render(width);
  if (shown < changed.size())
    text += "  … and " + format_plural(changed.size() - shown, "rank") + " that change less\n";
  return text;
}

std::string names_line(const char* what, const std::vector<std::string>& names, std::size_t width) {
  if (names.empty()) return "";
  std::string text = std::string(what) + ":";
  for (const std::string& name : names)
    text += " " + printable(name);
  return wrap(text, width, 0);
}

}  // namespace

std::string diff_report(const PlanDiff& diff, std::size_t width) {
  std::string text = diff.same() ? "the plans are the same\n" : "";
  text += wrap(summary(diff), width, 0);
  if (!diff.same()) {
    std::vector<MoveRow> rows;
    for (const TableDifference& table : diff.tables) {
      rows.push_back({table.table, table.bytes, table.from ? &*table.from : nullptr,
                      table.to ? &*table.to : nullptr});
    }
    text += "\nTables\n" + moves_table(std::move(rows), TextReportOptions().max_tables, width);
  }
  return text + ranks_section(diff, width);
}

std::string diff_report(const ProblemDiff& diff, std::size_t width) {
  std::string text;
  if (diff.same()) {
    text =
        "the problems are the same: every plan of one is a plan of the other, at the same cost\n";
  }
  text += names_line("tables added", diff.tables_added, width);
  text += names_line("tables removed", diff.tables_removed, width);
  if (!diff.facts.empty()) {
    TextTable table(
        {{"where", Align::kLeft, 0}, {"before", Align::kLeft, 0}, {"after", Align::kLeft, 0}});
    const auto value_text = [](const std::optional<std::string>& value) {
      return value ? cut_to(printable(*value), kValueWidth) : std::string("(default)");
    };
    for (const FactDifference& fact : diff.facts)
      table.add_row({fact.place, value_text(fact.from), value_text(fact.to)});
    text += table.render(width);
  }
  if (diff.search_differs)
    text += "what steers the search differs: compat mode may decide otherwise\n";
  return text;
}

}  // namespace shardwright
