// TorchRec's EmbeddingStats: the statistics of a plan that its planner prints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

inline constexpr std::size_t kShardingTypes =
    embedding::EnumNames<embedding::ShardingType>::kNames.size();

// Statistics of one rank. `sparse_hbm` counts shards; HBM, DDR and SSD also dense parameters and
// inputs.
struct RankStats {
  std::int64_t sparse_hbm_bytes = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
  std::int64_t ssd_bytes = 0;
  double hbm_share = 0;  // of the HBM without the reserved percentage; 0 without HBM
  double ddr_share = 0;
  double ssd_share = 0;
  embedding::Perf perf;
  double input_mib = 0;  // per step
  double output_mib = 0;
  std::array<std::uint32_t, kShardingTypes> shards{};  // index: sharding type
};

// How unevenly values are spread over ranks; 0 means evenly. The two divergences are fractions of
// their largest possible value.
struct Imbalance {
  double total_variation = 0;
  double total_distance = 0;
  double chi_divergence = 0;
  double kl_divergence = 0;
};

// The largest time, and the ranks that have exactly this time.
struct LargestTime {
  double ms = 0;
  std::vector<embedding::Rank> ranks;
};

// A size in whole bytes, and the ranks whose HBM differs from it by at most 1 MiB.
struct HbmLevel {
  std::int64_t bytes = 0;
  std::vector<embedding::Rank> ranks;
};

struct KernelStats {
  embedding::ComputeKernel kernel = embedding::ComputeKernel::kFused;
  std::size_t tables = 0;
  embedding::Storage storage;
};

// Times are estimates without measured factors. Source: EmbeddingStats.log and its callees,
// torchrec/distributed/planner/stats.py (commit a48cef79); sums are added in the same order.
// Thread safety: a value.
struct PlanStats {
  std::vector<RankStats> ranks;
  std::array<std::size_t, kShardingTypes> tables{};  // index: sharding type
  std::vector<KernelStats> kernels;                  // ordered by kernel name
  // Absent if the values of all ranks add up to 0.
  std::optional<Imbalance> perf_imbalance, hbm_imbalance, ddr_imbalance, ssd_imbalance;
  LargestTime max_perf, max_fwd_compute, max_fwd_comms, max_bwd_compute, max_bwd_comms,
      max_prefetch_compute;
  double mean_perf_ms = 0;
  double perf_above_mean_percent = 0;  // of the slowest rank
  double sum_of_maxima_ms = 0;
  // The critical path if ranks wait for each other after each part of a step and, in communication,
  // also after each pair of module and sharding type.
  double critical_comms_ms = 0;
  double critical_compute_ms = 0;
  double critical_path_ms() const { return critical_comms_ms + critical_compute_ms; }
  HbmLevel sparse_max_hbm, sparse_min_hbm, max_hbm, min_hbm, mean_hbm, low_median_hbm,
      high_median_hbm;
  double hbm_above_mean_percent = 0;
  // At most five levels: the fullest ranks, then the fullest of the remaining ranks, and so on.
  // TorchRec prints later ranks by their index among those remaining; these are rank numbers.
  std::vector<HbmLevel> peak_hbm;
  double reserved_hbm_fraction = 0;
  embedding::Storage dense_storage, kjt_storage;  // per rank
  // The tables that have shards on every slowest (or every fullest) rank; at most five, the most
  // expensive first. Uniform options (PartitionBy::kUniform) are left out, since they are on every
  // rank. Empty if one rank has all shards.
  std::vector<embedding::TableId> slowest_tables, fullest_tables;
};

// Precondition: `plan` is a plan of `problem` with at least one table. Cost: O(shards).
PlanStats plan_stats(const embedding::Problem& problem, const embedding::Reservation& reservation,
                     const embedding::Plan& plan);

// `shares` has one entry per rank. Precondition: no entry is negative, and their sum is above 0.
Imbalance imbalance(const std::vector<double>& shares);

// Calls `visit(rank, extent, cost)` for every shard in order.
template <class Visit>
void for_each_shard(const embedding::Assignment& assignment, const Visit& visit) {
  const auto& extents = assignment.option->layout->extents;
  std::uint32_t shard = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    for (std::uint32_t k = 0; k < extents[i].count; ++k, ++shard)
      visit(assignment.rank(shard), extents[i], assignment.option->costs[i]);
  }
}

}  // namespace shardwright
