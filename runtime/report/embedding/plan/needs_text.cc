#include "runtime/report/embedding/plan/needs_text.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/text/printable.h"
#include "runtime/report/embedding/plan/constraint_list.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::Problem;
using Align = TextTable::Align;

constexpr std::size_t kMostTables = 10;
constexpr std::size_t kMostNames = 6;
constexpr std::size_t kMostConstraints = 20;

std::string totals_table(const embedding::Topology& topology, const MemoryNeeds& needs,
                         const TextReportOptions& options) {
  const bool has_hbm = topology.has_hbm();
  TextTable table({{"", Align::kLeft, 0},
                   {"tables need at least", Align::kRight, 0},
                   {"left for tables", Align::kRight, 0},
                   {"capacity", Align::kRight, 1}});
  if (needs.tables.empty()) table.hide(1);
  const auto add = [&](const char* tier, Bytes need, Bytes available, Bytes capacity) {
    const Ink ink = need > available ? Ink::kBad : Ink::kPlain;
    table.add_row({tier, paint(format_bytes(need), ink, options.colours), format_bytes(available),
                   format_bytes(capacity)});
  };
  if (has_hbm) add("HBM", needs.hbm, needs.available.hbm, needs.capacity.hbm);
  const char* const all = topology.counts_ssd() ? "all memory" : has_hbm ? "HBM and DDR" : "memory";
  add(all, needs.total, needs.available.sum(), needs.capacity.sum());
  return table.render(options.width);
}

// Tables that fit on no rank come first.
std::string largest_table(const Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options) {
  std::vector<std::size_t> order(needs.tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const TableNeed &x = needs.tables[a], &y = needs.tables[b];
    return x.fits != y.fits ? y.fits : x.total > y.total;
  });
  TextTable table({{"table", Align::kLeft, 0},
                   {"HBM at least", Align::kRight, 1},
                   {"memory at least", Align::kRight, 0},
                   {"", Align::kLeft, 0}});
  if (!problem.topology().has_hbm()) table.hide(1);
  const std::size_t shown = std::min({order.size(), kMostTables, options.max_tables});
  for (std::size_t i = 0; i < shown; ++i) {
    const TableNeed& need = needs.tables[order[i]];
    const bool nowhere = need.has_options && !need.fits;
    table.add_row({problem.tables()[order[i]].name, format_bytes(need.hbm),
                   format_bytes(need.total),
                   nowhere ? paint("fits on no rank", Ink::kBad, options.colours) : ""});
  }
  std::string text = "\n" + table.render(options.width);
  if (shown < order.size()) {
    text += "  … and " + format_plural(order.size() - shown, "table") + " more\n";
  }
  return text;
}

}  // namespace

std::string needs_section(const Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options) {
  const std::string text = heading("What tables need, and what all ranks have", options.colours) +
                           totals_table(problem.topology(), needs, options);
  return needs.tables.empty() ? text : text + largest_table(problem, needs, options);
}

std::string constraints_section(const Problem& problem, const TextReportOptions& options) {
  const std::vector<Constraint> list = constraint_list(problem);
  if (list.empty()) return "";
  std::string text = heading("Constraints", options.colours);
  const std::size_t shown = std::min(list.size(), kMostConstraints);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& tables = list[i].tables;
    std::string line = printable(list[i].text);
    for (std::size_t k = 0; k < std::min(tables.size(), kMostNames); ++k)
      line += (k == 0 ? ": " : ", ") + printable(problem.table(tables[k]).name);
    if (tables.size() > kMostNames) {
      line += ", … (" + format_plural(tables.size(), "table") + ")";
    }
    text += wrap(line, options.width, 2);
  }
  if (shown < list.size()) {
    text += "  … and " + format_plural(list.size() - shown, "constraint") + " more\n";
  }
  return text;
}

}  // namespace shardwright
