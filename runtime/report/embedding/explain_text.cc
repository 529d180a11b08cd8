#include "runtime/report/embedding/explain_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/explain_reasons.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::Remedy;

constexpr std::size_t kExplainRanksWidth = 16;

std::string value_text(const RemedyAnswer& remedy, const std::optional<Amount>& amount) {
  const std::string more = remedy.each_rank_adds.value_or(false) ? "+" : "";
  const double value = amount ? amount->value : 0;
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

std::string change_name(const RemedyAnswer& remedy) {
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
  return "drop " + remedy.drop.value_or("");
}

}  // namespace

std::string rank_list(std::vector<embedding::Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return format_ranges(ranks, kExplainRanksWidth);
}

std::string obstacle_text(const std::vector<std::string>& excluded_by,
                          const std::optional<embedding::MemoryLack>& lack) {
  std::string text;
  for (const std::string& place : excluded_by)
    text += (text.empty() ? "" : ", ") + place;
  if (lack) text += (text.empty() ? "" : "; ") + lack_text(*lack);
  return text;
}

RemedyWords words_of(const RemedyAnswer& remedy) {
  if (remedy.kind == Remedy::Kind::kConstraint) return {change_name(remedy), "", "", "", "", ""};
  return {change_name(remedy),
          value_text(remedy, remedy.from),
          value_text(remedy, remedy.to),
          value_text(remedy, remedy.step),
          remedy.less_is_impossible ? "is impossible" : "no plan found",
          remedy.flags.value_or("")};
}

namespace {

using Align = TextTable::Align;
using Standing = ExplainedOption::Standing;

// Up to kMostSections tables have a section each; otherwise the first kMostRows have a row each.
constexpr std::size_t kMostSections = 3;
constexpr std::size_t kMostRows = 60;
constexpr std::size_t kMostBetter = 20;

std::string standing_text(Standing standing) {
  switch (standing) {
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

std::string shards_text(const ExplainedOption& option) {
  std::int64_t count = 0;
  for (const ExplainedOption::Shards& shards : option.shards)
    count += shards.count;
  if (count == 0) return "";
  const ExplainedOption::Shards& first = option.shards.front();
  return std::to_string(count) + " x " + std::to_string(first.rows) + "x" +
         std::to_string(first.columns);
}

// Leaves out the unit ms, which is in the header.
std::string rating_cell(const Amount& rating) {
  if (!rating.is_whole) return format_ms(rating.value);
  return format_bytes(Bytes(static_cast<std::int64_t>(rating.value))) + " of HBM";
}

std::string change_cell(const ExplainedOption& option) {
  if (!option.rating_change || option.standing == Standing::kChosen) return "";
  const Amount& change = *option.rating_change;
  if (change.value == 0) return "equal";
  return (change.value > 0 ? "+" : "-") + rating_cell({std::abs(change.value), change.is_whole});
}

std::vector<std::string> option_row(const ExplainedOption& option) {
  return {option_name(option),
          standing_text(option.standing),
          option.rating ? rating_cell(*option.rating) : "-",
          change_cell(option),
          option.busiest_rank ? "rank " + std::to_string(*option.busiest_rank) : "",
          option.part && *option.part ? std::string(to_name((*option.part)->name)) : "",
          format_bytes(Bytes(option.hbm_bytes)),
          format_bytes(Bytes(option.ddr_bytes)),
          format_bytes(Bytes(option.ssd_bytes.value_or(0))),
          format_ms(option.time_ms),
          rank_list(option.ranks),
          shards_text(option)};
}

// Says why the option was chosen and what the other options lack.
std::string reasons_text(const ExplainedTable& table, std::size_t width) {
  std::string text = "why " + option_name(table.options.front()) + "\n";
  for (const std::string& reason : table.reasons)
    text += wrap("- " + printable(reason), width, 2);
  std::string obstacles;
  for (const ExplainedOption& option : table.options) {
    if (option.is_usable()) continue;
    const std::string obstacle = obstacle_text(option.excluded_by, option.lack);
    obstacles += wrap("- " + option_name(option) + ": " + printable(obstacle), width, 2);
  }
  return text + (obstacles.empty() ? "" : "what the others lack\n" + obstacles);
}

std::string options_section(const ExplainedTable& table, bool by_time, std::size_t width) {
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
  for (const ExplainedOption& option : table.options)
    rows.add_row(option_row(option));
  constexpr std::size_t kSsd = 8;
  const bool uses_ssd =
      std::any_of(table.options.begin(), table.options.end(),
                  [](const ExplainedOption& option) { return option.ssd_bytes.value_or(0) != 0; });
  if (!uses_ssd) rows.hide(kSsd);
  return "\nTable " + printable(table.name) + ": its options, everything else as in the plan\n" +
         rows.render(width) + reasons_text(table, width);
}

// Returns the best option that has a better rating but is excluded or does not fit; empty if none.
std::string kept_out(const ExplainedTable& table) {
  const ExplainedOption* best = nullptr;
  for (const ExplainedOption& option : table.options) {
    if (option.is_usable() || option.change() >= 0) continue;
    if (best == nullptr || option.change() < best->change()) best = &option;
  }
  return best == nullptr ? ""
                         : option_name(*best) + ": " + obstacle_text(best->excluded_by, best->lack);
}

// Returns true if each option has one shard and these shards are equal: only the names differ.
bool is_same_shard(const ExplainedOption& a, const ExplainedOption& b) {
  const auto is_one = [](const ExplainedOption& option) {
    return option.shards.size() == 1 && option.shards.front().count == 1;
  };
  return is_one(a) && is_one(b) && a.shards.front().rows == b.shards.front().rows &&
         a.shards.front().columns == b.shards.front().columns &&
         a.compute_kernel == b.compute_kernel && a.load_factor == b.load_factor &&
         a.time_ms == b.time_ms && a.hbm_bytes == b.hbm_bytes;
}

// Returns the best possible option that is not the same shard as the chosen one, or null.
const ExplainedOption* next_best(const ExplainedTable& table) {
  for (std::size_t i = 1; i < table.options.size(); ++i) {
    const ExplainedOption& option = table.options[i];
    if (option.standing != Standing::kPossible) return nullptr;
    if (!is_same_shard(option, table.options.front())) return &option;
  }
  return nullptr;
}

std::string rows_section(const std::vector<ExplainedTable>& tables, std::size_t width) {
  std::vector<const ExplainedTable*> order;
  for (const ExplainedTable& table : tables) {
    if (!table.options.empty()) order.push_back(&table);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->options.front().time_ms > b->options.front().time_ms;
  });
  const std::size_t shown = std::min(order.size(), kMostRows);
  TextTable rows({{"table", Align::kLeft, 0},
                  {"chosen", Align::kLeft, 0},
                  {"ranks", Align::kLeft, 3},
                  {"next best", Align::kLeft, 0},
                  {"which would be", Align::kLeft, 0}});
  std::string better;
  std::size_t num_better = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const ExplainedTable& table = *order[i];
    const ExplainedOption& chosen = table.options.front();
    const ExplainedOption* const other = next_best(table);
    const std::string out = kept_out(table);
    if (!out.empty() && ++num_better <= kMostBetter)
      better += wrap("- " + printable(table.name + ": " + out), width, 2);
    rows.add_row({table.name, option_name(chosen), rank_list(chosen.ranks),
                  other != nullptr ? option_name(*other) : "-",
                  other != nullptr ? change_text(*other) : ""});
  }
  std::string text =
      "\n" +
      wrap("Each table alone exchanged, everything else as in the plan; the most expensive first",
           width, 0) +
      rows.render(width);
  if (shown < order.size())
    text += "  … and " + format_plural(order.size() - shown, "cheaper table") + "\n";
  if (num_better > 0) text += "Options that would be better, and what keeps them out\n" + better;
  if (num_better > kMostBetter)
    text += "  … and " + format_plural(num_better - kMostBetter, "table") + " more\n";
  return text +
         wrap("`--table NAME` shows all options of a table, `--json` those of all", width, 0);
}

std::string plan_section(const Amount& rating, const std::vector<ExplainedTable>& tables,
                         std::size_t width) {
  std::string text = "rating " + rating_cell(rating) + (rating.is_whole ? "\n" : " ms\n");
  if (tables.size() > kMostSections) return text + rows_section(tables, width);
  for (const ExplainedTable& table : tables) {
    if (!table.options.empty()) text += options_section(table, !rating.is_whole, width);
  }
  return text;
}

// Lists the constraints, one per line. Lines are not cut, since only a complete place is useful.
std::string constraints_text(const std::vector<RemedyAnswer>& remedies, bool any_other) {
  std::string text;
  for (const RemedyAnswer& remedy : remedies) {
    if (remedy.kind == Remedy::Kind::kConstraint)
      text += (text.empty() && !any_other ? "  drop " : "  or drop ") +
              printable(remedy.drop.value_or("")) + "\n";
  }
  return text;
}

std::string remedies_section(const std::vector<RemedyAnswer>& remedies, bool any_in_vain,
                             std::size_t width) {
  if (remedies.empty() && !any_in_vain) return "";
  if (remedies.empty()) return "\nNo single change that was tried would do\n";
  TextTable rows({{"change", Align::kLeft, 0},
                  {"from", Align::kRight, 2},
                  {"to", Align::kRight, 0},
                  {"step", Align::kRight, 3},
                  {"one step less", Align::kLeft, 1},
                  {"flags", Align::kLeft, 0}});
  bool any_stepped = false;
  for (const RemedyAnswer& remedy : remedies) {
    if (remedy.kind == Remedy::Kind::kConstraint) continue;
    any_stepped = true;
    const RemedyWords words = words_of(remedy);
    rows.add_row(
        {words.change, words.from, words.to, words.step, words.one_step_less, words.flags});
  }
  return "\n" +
         wrap("The smallest single changes that would do (each was planned and verified)", width,
              0) +
         (any_stepped ? rows.render(width) : "") + constraints_text(remedies, any_stepped);
}

std::string infeasible_section(const ExplanationAnswer& explanation, std::size_t width) {
  const InfeasibleAnswer& infeasible = *explanation.infeasible;
  const std::vector<RemedyAnswer> remedies =
      explanation.remedies.value_or(std::vector<RemedyAnswer>());
  const std::vector<VainRemedy> in_vain = explanation.in_vain.value_or(std::vector<VainRemedy>());
  std::string text = "no plan (" + std::string(to_name(infeasible.reason)) +
                     (infeasible.proved ? ", proved" : ", none was found") + ")\n" +
                     wrap(printable(infeasible.message), width, 2);
  if (infeasible.tables.size() > 1 && infeasible.irreducible) {
    text += wrap(
        "They do not fit this machine even alone; without any one of them the others do "
        "(tested).",
        width, 2);
  }
  text += remedies_section(remedies, !in_vain.empty(), width);
  if (!in_vain.empty()) text += "\nWhat does not help\n";
  for (const VainRemedy& vain : in_vain)
    text += wrap(std::string(to_name(vain.kind)) + ": " + printable(vain.message), width, 2);
  return text + "\n" + format_plural(explanation.plannings, "problem") + " planned in " +
         format_seconds(explanation.total_s) + "\n";
}

}  // namespace

std::string explain_report(const ExplanationAnswer& explanation, std::size_t width) {
  const std::string name = explanation.name ? printable(*explanation.name) : "";
  std::string title =
      name + (name.empty() || explanation.machine.empty() ? "" : ": ") + explanation.machine;
  if (!title.empty()) title += "\n";
  if (explanation.estimate) title += wrap(printable(*explanation.estimate), width, 0);
  if (explanation.best_rating && explanation.tables)
    return title + plan_section(*explanation.best_rating, *explanation.tables, width);
  if (explanation.infeasible) return title + infeasible_section(explanation, width);
  const bool known = explanation.stopped_by != StopReason::kFinished;
  return title + "stopped " +
         (known ? "by " + std::string(text_of(explanation.stopped_by)) + " " : "") +
         "before anything was found\n";
}

}  // namespace shardwright
