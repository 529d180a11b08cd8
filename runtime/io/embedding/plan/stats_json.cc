#include "runtime/io/embedding/plan/stats_json.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/embedding/plan/storage_json.h"

namespace shardwright {
namespace {

using embedding::Problem;
using embedding::ShardingType;
using embedding::to_name;

template <class Counts>
void write_types(std::string_view key, const Counts& counts, JsonWriter& json) {
  json.key(key).begin_object();
  for (std::size_t type = 0; type < counts.size(); ++type) {
    if (counts[type] > 0) json.member(to_name(static_cast<ShardingType>(type)), counts[type]);
  }
  json.end_object();
}

void write_rank(const RankStats& rank, bool counts_ssd, JsonWriter& json) {
  json.begin_object()
      .member("sparse_hbm", rank.sparse_hbm_bytes)
      .member("hbm", rank.hbm_bytes)
      .member("ddr", rank.ddr_bytes);
  if (counts_ssd) json.member("ssd", rank.ssd_bytes);
  json.member("hbm_share", rank.hbm_share).member("ddr_share", rank.ddr_share);
  if (counts_ssd) json.member("ssd_share", rank.ssd_share);
  json.member("perf", rank.perf.total().value()).key("perf_parts").begin_array();
  for (const Milliseconds part : {rank.perf.fwd_compute, rank.perf.fwd_comms, rank.perf.bwd_compute,
                                  rank.perf.bwd_comms, rank.perf.prefetch_compute}) {
    json.value(part.value());
  }
  json.end_array().member("input_mib", rank.input_mib).member("output_mib", rank.output_mib);
  write_types("shards", rank.shards, json);
  json.end_object();
}

void write_imbalance(std::string_view key, const std::optional<Imbalance>& imbalance,
                     JsonWriter& json) {
  json.key(key);
  if (!imbalance) {
    json.null();
    return;
  }
  json.begin_object()
      .member("total_variation", imbalance->total_variation)
      .member("total_distance", imbalance->total_distance)
      .member("chi_divergence", imbalance->chi_divergence)
      .member("kl_divergence", imbalance->kl_divergence)
      .end_object();
}

void write_times(const PlanStats& stats, JsonWriter& json) {
  for (const auto& [key, time] : {std::pair{"max_perf", &stats.max_perf},
                                  std::pair{"max_fwd_compute", &stats.max_fwd_compute},
                                  std::pair{"max_fwd_comms", &stats.max_fwd_comms},
                                  std::pair{"max_bwd_compute", &stats.max_bwd_compute},
                                  std::pair{"max_bwd_comms", &stats.max_bwd_comms},
                                  std::pair{"max_prefetch_compute", &stats.max_prefetch_compute}}) {
    json.key(key).begin_object().member("ms", time->ms);
    json.key("ranks").numbers(time->ranks);
    json.end_object();
  }
  json.new_line()
      .member("mean_perf", stats.mean_perf_ms)
      .member("max_perf_above_mean_percent", stats.perf_above_mean_percent)
      .member("sum_of_maxima", stats.sum_of_maxima_ms)
      .key("critical_path")
      .begin_object()
      .member("comms", stats.critical_comms_ms)
      .member("compute", stats.critical_compute_ms)
      .member("total", stats.critical_path_ms())
      .end_object();
}

void write_level(const HbmLevel& level, JsonWriter& json) {
  json.begin_object().member("bytes", level.bytes);
  json.key("ranks").numbers(level.ranks);
  json.end_object();
}

void write_memory(const PlanStats& stats, bool counts_ssd, JsonWriter& json) {
  for (const auto& [key, level] :
       {std::pair{"sparse_max_hbm", &stats.sparse_max_hbm},
        std::pair{"sparse_min_hbm", &stats.sparse_min_hbm}, std::pair{"max_hbm", &stats.max_hbm},
        std::pair{"min_hbm", &stats.min_hbm}, std::pair{"mean_hbm", &stats.mean_hbm},
        std::pair{"low_median_hbm", &stats.low_median_hbm},
        std::pair{"high_median_hbm", &stats.high_median_hbm}}) {
    json.key(key);
    write_level(*level, json);
  }
  json.new_line().member("max_hbm_above_mean_percent", stats.hbm_above_mean_percent);
  json.key("peak_hbm").begin_array();
  for (const HbmLevel& level : stats.peak_hbm)
    write_level(level, json);
  json.end_array().new_line().member("reserved_hbm_fraction", stats.reserved_hbm_fraction);
  write_storage(stats.dense_storage, counts_ssd, json.key("dense_storage"));
  write_storage(stats.kjt_storage, counts_ssd, json.key("kjt_storage"));
}

void write_tables(const Problem& problem, const PlanStats& stats, JsonWriter& json) {
  json.new_line();
  write_types("sharding_types", stats.tables, json);
  json.key("kernels").begin_object();
  for (const KernelStats& kernel : stats.kernels) {
    json.key(to_name(kernel.kernel)).begin_object().member("tables", kernel.tables);
    write_storage(kernel.storage, problem.topology().counts_ssd(), json.key("storage"));
    json.end_object();
  }
  json.end_object();
  for (const auto& [key, tables] : {std::pair{"slowest_tables", &stats.slowest_tables},
                                    std::pair{"fullest_tables", &stats.fullest_tables}}) {
    json.key(key).begin_array();
    for (const embedding::TableId table : *tables)
      json.value(problem.table(table).name);
    json.end_array();
  }
}

}  // namespace

void write_stats(const Problem& problem, const PlanStats& stats, JsonWriter& json) {
  const bool counts_ssd = problem.topology().counts_ssd();
  json.begin_object().new_line().key("ranks").begin_array();
  for (const RankStats& rank : stats.ranks) {
    json.new_line();
    write_rank(rank, counts_ssd, json);
  }
  json.end_array().new_line();
  write_times(stats, json);
  json.new_line();
  write_imbalance("perf_imbalance", stats.perf_imbalance, json);
  write_imbalance("hbm_imbalance", stats.hbm_imbalance, json);
  write_imbalance("ddr_imbalance", stats.ddr_imbalance, json);
  if (counts_ssd) write_imbalance("ssd_imbalance", stats.ssd_imbalance, json);
  json.new_line();
  write_memory(stats, counts_ssd, json);
  write_tables(problem, stats, json);
  json.end_object();
}

}  // namespace shardwright
