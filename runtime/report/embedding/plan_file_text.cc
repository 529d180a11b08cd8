#include "runtime/report/embedding/plan_file_text.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/report/embedding/plan_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kFileRanksWidth = 24;

std::string claims_text(const PlanDocument& plan) {
  // Only ratings in ms are estimates of a time.
  const std::string unit = plan.estimate.empty() ? "" : " ms";
  std::string text =
      plan.best_rating ? "rating " + format_ms(*plan.best_rating) + unit : "no rating";
  text += (plan.mode ? mode_text(*plan.mode) : "") + "\n";
  if (plan.best_rating && plan.lower_bound) {
    const double part = gap(*plan.best_rating, *plan.lower_bound);
    text += part <= kProvenGap ? "proved optimal"
                               : "no plan rates below " + format_ms(*plan.lower_bound) + unit +
                                     ": at most " + format_ms(100 * part) + " % from optimal";
    text += plan.certificate ? ", by " + proof_text(*plan.certificate) + "\n" : "\n";
  }
  return plan.estimate.empty() ? text : text + printable(plan.estimate) + "\n";
}

// Ranks with the same figures share a row; the slowest come first.
std::string ranks_text(const PlanDocument& plan, std::size_t width) {
  const std::size_t count = plan.perf_ms_by_rank.size();
  if (count == 0 || plan.hbm_bytes_by_rank.size() != count ||
      plan.ddr_bytes_by_rank.size() != count)
    return "";
  using Figures = std::tuple<double, std::int64_t, std::int64_t>;  // -ms, -HBM, -DDR
  std::map<Figures, std::vector<std::uint32_t>> groups;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    groups[{-plan.perf_ms_by_rank[rank], -plan.hbm_bytes_by_rank[rank],
            -plan.ddr_bytes_by_rank[rank]}]
        .push_back(rank);
  }
  TextTable table({{"rank", Align::kLeft, 0},
                   {"HBM", Align::kRight, 0},
                   {"DDR", Align::kRight, 1},
                   {"total ms", Align::kRight, 0}});
  const std::size_t most = TextReportOptions().max_ranks;
  std::size_t rows = 0, shown = 0;
  for (const auto& [figures, ranks] : groups) {
    if (rows++ == most) break;
    shown += ranks.size();
    const auto& [ms, hbm, ddr] = figures;
    table.add_row({format_ranges(ranks, kFileRanksWidth), format_bytes(Bytes(-hbm)),
                   format_bytes(Bytes(-ddr)), format_ms(-ms)});
  }
  std::string text = heading("Ranks, the slowest first", false) + table.render(width);
  if (shown < count) text += "  … and " + format_plural(count - shown, "faster rank") + "\n";
  return text;
}

std::string tables_text(const std::vector<PlanEntry>& entries, std::size_t width) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return entries[a].perf_ms.value_or(0) > entries[b].perf_ms.value_or(0);
  });
  TextTable table({{"table", Align::kLeft, 0},
                   {"sharding", Align::kLeft, 0},
                   {"kernel", Align::kLeft, 1},
                   {"ranks", Align::kLeft, 0},
                   {"shards", Align::kRight, 2},
                   {"HBM", Align::kRight, 1},
                   {"total ms", Align::kRight, 0}});
  const std::size_t shown = std::min(order.size(), TextReportOptions().max_tables);
  for (std::size_t i = 0; i < shown; ++i) {
    const PlanEntry& entry = entries[order[i]];
    const std::set<std::uint32_t> ranks(entry.ranks.begin(), entry.ranks.end());
    table.add_row(
        {entry.table, std::string(to_name(entry.sharding_type)),
         std::string(to_name(entry.compute_kernel)),
         format_ranges(std::vector<std::uint32_t>(ranks.begin(), ranks.end()), kFileRanksWidth),
         std::to_string(entry.ranks.size()),
         entry.hbm_bytes ? format_bytes(Bytes(*entry.hbm_bytes)) : "-",
         entry.perf_ms ? format_ms(*entry.perf_ms) : "-"});
  }
  std::string text = heading("Tables, the most expensive first (times summed over shards)", false) +
                     table.render(width);
  if (shown < order.size())
    text += "  … and " + format_plural(order.size() - shown, "cheaper table") + "\n";
  return text;
}

}  // namespace

std::string plan_file_report(const PlanDocument& plan, std::size_t width) {
  if (!plan.plan) {
    const ClaimedFailure failure = plan.failure.value_or(ClaimedFailure());
    return "no plan" + (plan.mode ? mode_text(*plan.mode) : "") + "\n" +
           wrap(printable(failure.message), width, 2);
  }
  std::string text = wrap(claims_text(plan), width, 0);
  if (!plan.verdict.empty()) text += heading("Verdict", false);
  for (const std::string& sentence : plan.verdict)
    text += wrap("- " + printable(sentence), width, 2);
  return text + ranks_text(plan, width) + tables_text(*plan.plan, width);
}

}  // namespace shardwright
