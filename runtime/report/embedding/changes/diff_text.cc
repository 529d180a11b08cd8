#include "runtime/report/embedding/changes/diff_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text/printable.h"
#include "runtime/report/embedding/changes/moves_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
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
    text += "made for different problems, which differ in " + diff.problem_differs_in +
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
  const bool has_ssd = rank.ssd_bytes.from || rank.ssd_bytes.to;
  return std::max({part(rank.perf_ms), part(rank.hbm_bytes), part(rank.ddr_bytes),
                   has_ssd ? part(rank.ssd_bytes) : 0.0});
}

std::string ranks_section(const PlanDiff& diff, const TextReportOptions& options) {
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
  const std::size_t shown = std::min(changed.size(), options.max_ranks);
  const auto ms = [](const std::optional<double>& time) { return time ? format_ms(*time) : "-"; };
  for (std::size_t i = 0; i < shown; ++i) {
    const RankDifference& rank = diff.ranks[changed[i].second];
    table.add_row({std::to_string(changed[i].second), ms(rank.perf_ms.from), ms(rank.perf_ms.to),
                   ms_change(rank.perf_ms), bytes_text(rank.hbm_bytes.from),
                   bytes_text(rank.hbm_bytes.to), bytes_change(rank.hbm_bytes),
                   bytes_change(rank.ddr_bytes), bytes_change(rank.ssd_bytes)});
  }
  const bool has_ssd = std::any_of(
      diff.ranks.begin(), diff.ranks.end(),
      [](const RankDifference& rank) { return rank.ssd_bytes.from || rank.ssd_bytes.to; });
  if (!has_ssd) table.hide(kSsdChange);
  std::string text = "\nRanks that change, the most first\n" + table.render(options.width);
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

std::string diff_report(const PlanDiff& diff, const TextReportOptions& options) {
  std::string text = diff.same() ? "the plans are the same\n" : "";
  text += wrap(summary(diff), options.width, 0);
  if (!diff.same()) {
    std::vector<MoveRow> rows;
    for (const TableDifference& table : diff.tables) {
      rows.push_back({table.table, table.bytes, table.from ? &*table.from : nullptr,
                      table.to ? &*table.to : nullptr});
    }
    text += "\nTables\n" + moves_table(std::move(rows), options.max_tables, options.width);
  }
  return text + ranks_section(diff, options);
}

std::string diff_report(const ProblemDiff& diff, const TextReportOptions& options) {
  std::string text;
  if (diff.same()) {
    text =
        "the problems are the same: every plan of one is a plan of the other, at the same cost\n";
  }
  text += names_line("tables added", diff.tables_added, options.width);
  text += names_line("tables removed", diff.tables_removed, options.width);
  if (!diff.facts.empty()) {
    TextTable table(
        {{"where", Align::kLeft, 0}, {"before", Align::kLeft, 0}, {"after", Align::kLeft, 0}});
    const auto value_text = [](const std::optional<std::string>& value) {
      return value ? cut_to(printable(*value), kValueWidth) : std::string("(default)");
    };
    for (const FactDifference& fact : diff.facts)
      table.add_row({fact.place, value_text(fact.from), value_text(fact.to)});
    text += table.render(options.width);
  }
  if (diff.search_differs)
    text += "what steers the search differs: compat mode may decide otherwise\n";
  return text;
}

}  // namespace shardwright
