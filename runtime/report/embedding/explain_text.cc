#include "runtime/report/embedding/explain_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/explain_reasons.h"
#include "runtime/report/embedding/plan_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::OptionCost;
using embedding::Problem;
using embedding::Remedy;

constexpr std::size_t kExplainRanksWidth = 16;

std::string value_text(const Remedy& remedy, double value) {
  const std::string more = remedy.each_rank_adds ? "+" : "";
  switch (remedy.kind) {
    case Remedy::Kind::kHbm:
    case Remedy::Kind::kDdr:
    case Remedy::Kind::kSsd:
      if (value == 0) return "as it is";
      return more +
             format_count(static_cast<std::uint64_t>(value) /
                          static_cast<std::uint64_t>(kMebibyte)) +
             " MiB";
    case Remedy::Kind::kReservation:
      return format_ms(value * 100) + "%";
    case Remedy::Kind::kRanks:
    case Remedy::Kind::kHosts:
    case Remedy::Kind::kBatchSize:
    case Remedy::Kind::kConstraint:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

std::string change_name(const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      return "ranks of the host";
    case Remedy::Kind::kHosts:
      return "hosts";
    case Remedy::Kind::kHbm:
      return "HBM per rank";
    case Remedy::Kind::kDdr:
      return "DDR per rank";
    case Remedy::Kind::kSsd:
      return "SSD per rank";
    case Remedy::Kind::kBatchSize:
      return "batch per rank";
    case Remedy::Kind::kReservation:
      return "reservation";
    case Remedy::Kind::kConstraint:
      break;
  }
  return "drop " + remedy.constraint;
}

}  // namespace

std::string rank_list(std::vector<embedding::Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return format_ranges(ranks, kExplainRanksWidth);
}

std::string obstacle_text(const OptionCost& cost) {
  std::string text;
  for (const std::string& place : cost.excluded_by)
    text += (text.empty() ? "" : ", ") + place;
  if (cost.lack) text += (text.empty() ? "" : "; ") + lack_text(*cost.lack);
  return text;
}

RemedyWords words_of(const Problem& problem, const Remedy& remedy) {
  if (remedy.kind == Remedy::Kind::kConstraint) return {change_name(remedy), "", "", "", "", ""};
  return {change_name(remedy),
          value_text(remedy, remedy.from),
          value_text(remedy, remedy.to),
          value_text(remedy, remedy.step),
          remedy.less_is_impossible ? "is impossible" : "no plan found",
          flags_of(problem, remedy)};
}

namespace {

using embedding::FailedRemedy;
using embedding::OptionCost;
using embedding::Problem;
using embedding::Remedy;
using Align = TextTable::Align;
using Standing = OptionCost::Standing;

// Up to kMostSections tables get a section each; of more tables, kMostRows get a row each.
constexpr std::size_t kMostSections = 3;
constexpr std::size_t kMostRows = 60;

std::string standing_text(const OptionCost& cost) {
  switch (cost.standing) {
    case Standing::kChosen:
      return "chosen";
    case Standing::kPossible:
      return "possible";
    case Standing::kTooLarge:
      return "too large";
    case Standing::kNoPlace:
      return "no place";
    case Standing::kExcluded:
      break;
  }
  return "excluded";
}

std::string shards_text(const embedding::ShardingOption& option) {
  const embedding::ShardExtent& first = option.layout->extents.front();
  return std::to_string(option.num_shards()) + " x " + std::to_string(first.rows) + "x" +
         std::to_string(first.columns);
}

// Without a unit; the header has it.
std::string rating_cell(const Problem& problem, double rating) {
  if (problem.spec().perf_model == embedding::PerfModel::kPerf) return format_ms(rating);
  return rating_text(problem, rating);
}

std::string change_cell(const Problem& problem, const OptionCost& cost) {
  if (!cost.rating || cost.standing == Standing::kChosen) return "";
  if (cost.rating_change == 0) return "equal";
  return (cost.rating_change > 0 ? "+" : "-") + rating_cell(problem, std::abs(cost.rating_change));
}

std::string options_section(const Problem& problem, const TableExplanation& table,
                            std::size_t width) {
  const bool by_time = problem.spec().perf_model == embedding::PerfModel::kPerf;
  TextTable rows({{"option", Align::kLeft, 0},
                  {"", Align::kLeft, 0},
                  {by_time ? "rating ms" : "rating", Align::kRight, 0},
                  {"change", Align::kRight, 0},
                  {"busiest", Align::kRight, 3},
                  {"mostly", Align::kLeft, 4},
                  {"HBM", Align::kRight, 1},
                  {"DDR", Align::kRight, 2},
                  {"SSD", Align::kRight, 2},
                  {"time ms", Align::kRight, 5},
                  {"ranks", Align::kLeft, 6},
                  {"shards", Align::kLeft, 7}});
  for (const OptionCost& cost : table.options) {
    rows.add_row({option_name(*cost.option), standing_text(cost),
                  cost.rating ? rating_cell(problem, *cost.rating) : "-",
                  change_cell(problem, cost),
                  cost.rating ? "rank " + std::to_string(cost.busiest_rank) : "",
                  cost.part ? to_name(*cost.part) : "", format_bytes(cost.storage.hbm),
                  format_bytes(cost.storage.ddr), format_bytes(cost.storage.ssd),
                  format_ms(cost.time_ms), rank_list(cost.ranks), shards_text(*cost.option)});
  }
  constexpr std::size_t kSsd = 8;
  const bool uses_ssd =
      std::any_of(table.options.begin(), table.options.end(),
                  [](const OptionCost& cost) { return cost.storage.ssd != Bytes(); });
  if (!uses_ssd) rows.hide(kSsd);
  std::string text = "\nTable " + printable(problem.table(table.table).name) +
                     ": its options, everything else as in the plan\n" + rows.render(width) +
                     "why " + option_name(*table.options.front().option) + "\n";
  for (const std::string& reason : table.reasons)
    text += wrap("- " + printable(reason), width, 2);
  std::string obstacles;
  for (const OptionCost& cost : table.options) {
    if (cost.standing <= Standing::kPossible) continue;
    obstacles +=
        wrap("- " + option_name(*cost.option) + ": " + printable(obstacle_text(cost)), width, 2);
  }
  return text + (obstacles.empty() ? "" : "what the others lack\n" + obstacles);
}

// The best option that rates better but is excluded or does not fit; empty if there is none.
std::string kept_out(const TableExplanation& table) {
  const OptionCost* best = nullptr;
  for (const OptionCost& cost : table.options) {
    if (cost.standing <= Standing::kPossible || !cost.rating || cost.rating_change >= 0) continue;
    if (best == nullptr || cost.rating_change < best->rating_change) best = &cost;
  }
  return best == nullptr ? "" : option_name(*best->option) + ": " + obstacle_text(*best);
}

std::string rows_section(const Explanation& explanation, std::size_t width) {
  const Problem& problem = *explanation.problem;
  std::vector<const TableExplanation*> order;
  for (const TableExplanation& table : explanation.tables)
    order.push_back(&table);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->options.front().time_ms > b->options.front().time_ms;
  });
  const std::size_t shown = std::min(order.size(), kMostRows);
  TextTable rows({{"table", Align::kLeft, 0},
                  {"chosen", Align::kLeft, 0},
                  {"ranks", Align::kLeft, 3},
                  {"next best", Align::kLeft, 0},
                  {"which would be", Align::kLeft, 0},
                  {"better, but", Align::kLeft, 1}});
  bool any_kept_out = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const TableExplanation& table = *order[i];
    const OptionCost& chosen = table.options.front();
    const bool other = table.options.size() > 1 && table.options[1].standing == Standing::kPossible;
    const std::string out = kept_out(table);
    any_kept_out = any_kept_out || !out.empty();
    rows.add_row({problem.table(table.table).name, option_name(*chosen.option),
                  rank_list(chosen.ranks), other ? option_name(*table.options[1].option) : "-",
                  other ? change_text(problem, table.options[1]) : "", out});
  }
  if (!any_kept_out) rows.hide(5);
  std::string text =
      "\n" +
      wrap("Each table alone exchanged, everything else as in the plan; the most expensive first",
           width, 0) +
      rows.render(width);
  if (shown < order.size())
    text += "  … and " + format_plural(order.size() - shown, "cheaper table") + "\n";
  return text +
         wrap("`--table NAME` shows all options of a table, `--json` those of all", width, 0);
}

std::string plan_section(const Explanation& explanation, std::size_t width) {
  const Problem& problem = *explanation.problem;
  std::string text = "rating " + rating_text(problem, explanation.result.evaluation.rating) + "\n";
  if (explanation.tables.size() > kMostSections) return text + rows_section(explanation, width);
  for (const TableExplanation& table : explanation.tables)
    text += options_section(problem, table, width);
  return text;
}

// Constraints, one per line and never cut: only a complete place is useful.
std::string constraints_text(const Infeasibility& reason, bool any_other) {
  std::string text;
  for (const Remedy& remedy : reason.remedies) {
    if (remedy.kind == Remedy::Kind::kConstraint)
      text += (text.empty() && !any_other ? "  drop " : "  or drop ") +
              printable(remedy.constraint) + "\n";
  }
  return text;
}

std::string remedies_section(const Problem& problem, const Infeasibility& reason,
                             std::size_t width) {
  if (reason.remedies.empty() && reason.in_vain.empty()) return "";
  if (reason.remedies.empty()) return "\nNo single change that was tried would do\n";
  TextTable rows({{"change", Align::kLeft, 0},
                  {"from", Align::kRight, 2},
                  {"to", Align::kRight, 0},
                  {"step", Align::kRight, 3},
                  {"one step less", Align::kLeft, 1},
                  {"flags", Align::kLeft, 0}});
  bool any_stepped = false;
  for (const Remedy& remedy : reason.remedies) {
    if (remedy.kind == Remedy::Kind::kConstraint) continue;
    any_stepped = true;
    const RemedyWords words = words_of(problem, remedy);
    rows.add_row(
        {words.change, words.from, words.to, words.step, words.one_step_less, words.flags});
  }
  return "\n" +
         wrap("The smallest single changes that would do (each was planned and verified)", width,
              0) +
         (any_stepped ? rows.render(width) : "") + constraints_text(reason, any_stepped);
}

std::string infeasible_section(const Explanation& explanation, std::size_t width) {
  const Infeasibility& reason = *explanation.infeasibility;
  std::string text = "no plan (" + std::string(to_name(reason.kind)) +
                     (reason.proved ? ", proved" : ", none was found") + ")\n" +
                     wrap(printable(reason.message), width, 2);
  if (reason.tables.size() > 1 && reason.irreducible) {
    text += wrap(
        "They do not fit this machine even alone; without any one of them the others do "
        "(tested).",
        width, 2);
  }
  text += remedies_section(*explanation.problem, reason, width);
  if (!reason.in_vain.empty()) text += "\nWhat does not help\n";
  for (const FailedRemedy& vain : reason.in_vain)
    text += wrap(std::string(to_name(vain.kind)) + ": " + printable(failed_remedy_text(vain)),
                 width, 2);
  return text + "\n" + format_plural(explanation.plannings, "problem") + " planned in " +
         format_seconds(explanation.total_s) + "\n";
}

}  // namespace

std::string explain_report(const Explanation& explanation, std::size_t width) {
  const Problem& problem = *explanation.problem;
  const std::string title = (problem.name().empty() ? "" : printable(problem.name()) + ": ") +
                            format_plural(problem.tables().size(), "table") + " on " +
                            format_plural(problem.topology().world_size(), "rank") + "\n";
  if (explanation.result.plan) return title + plan_section(explanation, width);
  if (explanation.infeasibility) return title + infeasible_section(explanation, width);
  return title + "stopped by " + std::string(text_of(explanation.result.stopped_by)) +
         " before anything was found\n";
}

}  // namespace shardwright
