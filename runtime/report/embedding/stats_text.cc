#include "runtime/report/embedding/stats_text.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;
using embedding::Rank;

constexpr std::size_t kStatsRanksWidth = 28;

// Index: ShardingType. Abbreviations of TorchRec's EmbeddingStats.
constexpr const char* kShort[kShardingTypes] = {"DP", "TW", "CW", "RW", "TWRW", "TWCW", "GS"};
static_assert(kShort[kShardingTypes - 1] != nullptr, "a sharding type has no short name");

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string percent(double share) { return fixed(share * 100, 0) + "%"; }

template <class Counts>
std::string type_counts(const Counts& counts) {
  std::string text;
  for (std::size_t type = 0; type < kShardingTypes; ++type) {
    if (counts[type] == 0) continue;
    text +=
        std::string(text.empty() ? "" : " ") + kShort[type] + ": " + std::to_string(counts[type]);
  }
  return text;
}

std::string ranks_table(const PlanStats& stats, const TextReportOptions& options) {
  TextTable table({{"rank", Align::kRight, 0},
                   {"HBM", Align::kRight, 0},
                   {"%", Align::kRight, 3},
                   {"DDR", Align::kRight, 2},
                   {"SSD", Align::kRight, 2},
                   {"perf ms", Align::kRight, 0},
                   {"input MiB", Align::kRight, 1},
                   {"output MiB", Align::kRight, 1},
                   {"shards", Align::kLeft, 0}});
  const std::size_t shown = std::min(stats.ranks.size(), options.max_ranks);
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const RankStats& at = stats.ranks[rank];
    table.add_row({std::to_string(rank), format_bytes(Bytes(at.hbm_bytes)), percent(at.hbm_share),
                   format_bytes(Bytes(at.ddr_bytes)) + " (" + percent(at.ddr_share) + ")",
                   format_bytes(Bytes(at.ssd_bytes)) + " (" + percent(at.ssd_share) + ")",
                   format_ms(at.perf.total().value()), fixed(at.input_mib, 2),
                   fixed(at.output_mib, 2), type_counts(at.shards)});
  }
  if (!stats.ssd_imbalance) table.hide(4);
  std::string text = table.render(options.width);
  if (shown < stats.ranks.size())
    text += "  … and " + format_plural(stats.ranks.size() - shown, "rank") + " (JSON lists all)\n";
  return text;
}

std::string ranks_text(const std::vector<Rank>& ranks) {
  if (ranks.empty()) return "no rank";
  return (ranks.size() > 1 ? "ranks " : "rank ") + format_ranges(ranks, kStatsRanksWidth);
}

std::string times_table(const PlanStats& stats, std::size_t width) {
  TextTable table(
      {{"time", Align::kLeft, 0}, {"ms", Align::kRight, 0}, {"where", Align::kLeft, 0}});
  for (const auto& [name, time] : {std::pair{"largest total", &stats.max_perf},
                                   std::pair{"largest forward compute", &stats.max_fwd_compute},
                                   std::pair{"largest forward comms", &stats.max_fwd_comms},
                                   std::pair{"largest backward compute", &stats.max_bwd_compute},
                                   std::pair{"largest backward comms", &stats.max_bwd_comms},
                                   std::pair{"largest prefetch", &stats.max_prefetch_compute}}) {
    table.add_row({name, format_ms(time->ms), ranks_text(time->ranks)});
  }
  table.add_row({"sum of maxima", format_ms(stats.sum_of_maxima_ms), ""});
  table.add_row({"mean total", format_ms(stats.mean_perf_ms),
                 "largest is " + fixed(stats.perf_above_mean_percent, 1) + "% above"});
  table.add_row({"critical path, comms", format_ms(stats.critical_comms_ms), ""});
  table.add_row({"critical path, compute", format_ms(stats.critical_compute_ms), ""});
  table.add_row({"critical path", format_ms(stats.critical_path_ms()), ""});
  return table.render(width);
}

std::string imbalance_table(const PlanStats& stats, std::size_t width) {
  TextTable table({{"imbalance", Align::kLeft, 0},
                   {"total variation", Align::kRight, 0},
                   {"total distance", Align::kRight, 0},
                   {"chi divergence", Align::kRight, 0},
                   {"KL divergence", Align::kRight, 0}});
  for (const auto& [name, measured] :
       {std::pair{"perf", &stats.perf_imbalance}, std::pair{"HBM", &stats.hbm_imbalance},
        std::pair{"DDR", &stats.ddr_imbalance}, std::pair{"SSD", &stats.ssd_imbalance}}) {
    if (!*measured) continue;
    const Imbalance& m = **measured;
    table.add_row({name, fixed(m.total_variation, 3), fixed(m.total_distance, 3),
                   fixed(m.chi_divergence, 3), fixed(m.kl_divergence, 3)});
  }
  return table.render(width);
}

std::string memory_table(const PlanStats& stats, std::size_t width) {
  TextTable table(
      {{"memory", Align::kLeft, 0}, {"HBM", Align::kRight, 0}, {"where", Align::kLeft, 0}});
  const auto add = [&](const std::string& name, const HbmLevel& level) {
    table.add_row({name, format_bytes(Bytes(level.bytes)), ranks_text(level.ranks)});
  };
  add("shards alone, most", stats.sparse_max_hbm);
  add("shards alone, least", stats.sparse_min_hbm);
  add("most", stats.max_hbm);
  add("least", stats.min_hbm);
  add("mean", stats.mean_hbm);
  add("low median", stats.low_median_hbm);
  add("high median", stats.high_median_hbm);
  for (std::size_t i = 0; i < stats.peak_hbm.size(); ++i)
    add("peak " + std::to_string(i + 1), stats.peak_hbm[i]);
  return table.render(width);
}

std::string kernels_table(const PlanStats& stats, std::size_t width) {
  TextTable table({{"kernel", Align::kLeft, 0},
                   {"tables", Align::kRight, 0},
                   {"HBM", Align::kRight, 0},
                   {"DDR", Align::kRight, 0},
                   {"SSD", Align::kRight, 0}});
  if (!stats.ssd_imbalance) table.hide(4);
  for (const KernelStats& kernel : stats.kernels) {
    table.add_row({std::string(to_name(kernel.kernel)), format_count(kernel.tables),
                   format_bytes(kernel.storage.hbm), format_bytes(kernel.storage.ddr),
                   format_bytes(kernel.storage.ssd)});
  }
  return table.render(width);
}

std::string names(const char* what, const embedding::Problem& problem,
                  const std::vector<embedding::TableId>& tables, std::size_t width) {
  if (tables.empty()) return "";
  std::string text = what;
  for (const embedding::TableId table : tables)
    text += " " + printable(problem.table(table).name);
  return wrap(text, width, 2);
}

}  // namespace

std::string stats_section(const embedding::Problem& problem, const PlanStats& stats,
                          const TextReportOptions& options) {
  const std::string reserved =
      "reserved: " + percent(stats.reserved_hbm_fraction) + " of HBM, " +
      format_bytes(stats.dense_storage.hbm) + " HBM and " + format_bytes(stats.dense_storage.ddr) +
      " DDR for dense parameters, " + format_bytes(stats.kjt_storage.hbm) + " HBM and " +
      format_bytes(stats.kjt_storage.ddr) + " DDR for inputs, on every rank";
  return "\n" +
         wrap("Statistics, as TorchRec counts (memory: shards, dense parameters and inputs)",
              options.width, 0) +
         ranks_table(stats, options) + "\n" + times_table(stats, options.width) + "\n" +
         imbalance_table(stats, options.width) + "\n" + memory_table(stats, options.width) +
         wrap("fullest rank " + fixed(stats.hbm_above_mean_percent, 1) + "% above the mean\n" +
                  reserved,
              options.width, 2) +
         "\n" + kernels_table(stats, options.width) +
         wrap("tables by sharding: " + type_counts(stats.tables), options.width, 2) +
         names("tables that make ranks slowest:", problem, stats.slowest_tables, options.width) +
         names("tables that fill ranks most:", problem, stats.fullest_tables, options.width);
}

}  // namespace shardwright
