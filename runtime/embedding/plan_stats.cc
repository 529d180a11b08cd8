#include "runtime/embedding/plan_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/numeric/exact_mean.h"
#include "search/embedding/compat/storage_estimator.h"

namespace shardwright {
namespace {

using embedding::Perf;
using embedding::Plan;
using embedding::Problem;
using embedding::Rank;
using embedding::ReservationSpec;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::Storage;
using embedding::TableId;

constexpr std::size_t kMostTables = 5;
constexpr std::size_t kMostPeaks = 5;

double mib(double bytes) { return bytes / (1024.0 * 1024.0); }

void add_shards(const Problem& problem, const Plan& plan, PlanStats& stats) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ShardingOption& option = *plan[i].option;
    const auto type = static_cast<std::size_t>(option.sharding_type);
    ++stats.tables[type];
    embedding::EstimateInputs inputs = embedding::estimate_inputs(problem, option);
    // TorchRec ignores constraints here and sizes outputs by the table's data type.
    inputs.output_data_type_size = inputs.table_data_type_size;
    for_each_shard(plan[i], [&](Rank rank, const ShardExtent& extent, const ShardCost& cost) {
      RankStats& at = stats.ranks[rank];
      at.sparse_hbm_bytes += cost.storage.hbm.value();
      at.ddr_bytes += cost.storage.ddr.value();
      at.ssd_bytes += cost.storage.ssd.value();
      at.perf += cost.perf;
      const embedding::ShardIo io = embedding::shard_io(inputs, extent);
      at.input_mib += mib(static_cast<double>(io.input_bytes));
      at.output_mib += mib(static_cast<double>(io.output_bytes));
      ++at.shards[type];
    });
  }
}

// Subtracts the reserved percentage from capacities; dense parameters and inputs count as used.
void add_reservation(const Problem& problem, const embedding::Reservation& reservation,
                     PlanStats& stats) {
  const ReservationSpec& spec = problem.spec().reservation;
  if (spec.takes_percentage()) stats.reserved_hbm_fraction = spec.percentage;
  stats.dense_storage = reservation.dense_storage.value_or(Storage{});
  stats.kjt_storage = reservation.kjt_storage.value_or(Storage{});
  const Storage fixed = stats.dense_storage + stats.kjt_storage;
  for (std::size_t rank = 0; rank < stats.ranks.size(); ++rank) {
    RankStats& at = stats.ranks[rank];
    at.hbm_bytes = at.sparse_hbm_bytes + fixed.hbm.value();
    at.ddr_bytes += fixed.ddr.value();
    const Storage has = problem.topology().storage()[rank];
    const double hbm = (1 - stats.reserved_hbm_fraction) * static_cast<double>(has.hbm.value());
    if (problem.topology().has_hbm() && hbm != 0)
      at.hbm_share = static_cast<double>(at.hbm_bytes) / hbm;
    if (has.ddr.value() > 0)
      at.ddr_share = static_cast<double>(at.ddr_bytes) / static_cast<double>(has.ddr.value());
    if (has.ssd.value() > 0)
      at.ssd_share = static_cast<double>(at.ssd_bytes) / static_cast<double>(has.ssd.value());
  }
}

void add_kernels(const Plan& plan, PlanStats& stats) {
  std::map<std::string_view, KernelStats> by_name;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ShardingOption& option = *plan[i].option;
    KernelStats& kernel = by_name[to_name(option.compute_kernel)];
    kernel.kernel = option.compute_kernel;
    ++kernel.tables;
    kernel.storage += option.total_storage();
  }
  for (const auto& [name, kernel] : by_name)
    stats.kernels.push_back(kernel);
}

LargestTime largest(const std::vector<double>& by_rank) {
  LargestTime found{*std::max_element(by_rank.begin(), by_rank.end()), {}};
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] == found.ms) found.ranks.push_back(static_cast<Rank>(rank));
  }
  return found;
}

double percent_above(double value, double mean) {
  return mean > 0 ? (value - mean) / mean * 100 : 0;
}

void add_times(PlanStats& stats) {
  const auto of = [&](const auto& part) {
    std::vector<double> by_rank;
    for (const RankStats& rank : stats.ranks)
      by_rank.push_back(part(rank.perf).value());
    return by_rank;
  };
  const std::vector<double> totals = of([](const Perf& perf) { return perf.total(); });
  stats.max_perf = largest(totals);
  stats.max_fwd_compute = largest(of([](const Perf& perf) { return perf.fwd_compute; }));
  stats.max_fwd_comms = largest(of([](const Perf& perf) { return perf.fwd_comms; }));
  stats.max_bwd_compute = largest(of([](const Perf& perf) { return perf.bwd_compute; }));
  stats.max_bwd_comms = largest(of([](const Perf& perf) { return perf.bwd_comms; }));
  stats.max_prefetch_compute = largest(of([](const Perf& perf) { return perf.prefetch_compute; }));
  stats.mean_perf_ms = exact_mean(totals);
  stats.perf_above_mean_percent = percent_above(stats.max_perf.ms, stats.mean_perf_ms);
  stats.sum_of_maxima_ms = stats.max_fwd_compute.ms + stats.max_fwd_comms.ms +
                           stats.max_bwd_compute.ms + stats.max_bwd_comms.ms +
                           stats.max_prefetch_compute.ms;
}

// Source: _calculate_critical_path, torchrec/distributed/planner/stats.py.
void add_critical_path(const Problem& problem, const Plan& plan, PlanStats& stats) {
  struct Group {
    std::vector<double> fwd, bwd;  // by rank
  };
  std::map<std::pair<std::uint32_t, ShardingType>, std::size_t> index;
  std::vector<Group> groups;  // in the order of the plan
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ShardingOption& option = *plan[i].option;
    const auto at =
        index.try_emplace({problem.module_of(option.table), option.sharding_type}, groups.size());
    if (at.second) {
      const std::vector<double> none(stats.ranks.size());
      groups.push_back({none, none});
    }
    Group& group = groups[at.first->second];
    for_each_shard(plan[i], [&](Rank rank, const ShardExtent&, const ShardCost& cost) {
      group.fwd[rank] += cost.perf.fwd_comms.value();
      group.bwd[rank] += cost.perf.bwd_comms.value();
    });
  }
  for (const Group& group : groups) {
    stats.critical_comms_ms += *std::max_element(group.fwd.begin(), group.fwd.end());
    stats.critical_comms_ms += *std::max_element(group.bwd.begin(), group.bwd.end());
  }
  stats.critical_compute_ms = stats.max_fwd_compute.ms + stats.max_bwd_compute.ms;
}

// Source: Python's math.isclose(a, b, abs_tol=1.0) on sizes in MiB.
bool is_level(std::int64_t a, std::int64_t b) {
  const double x = mib(static_cast<double>(a)), y = mib(static_cast<double>(b));
  return std::abs(x - y) <= std::max(1e-9 * std::max(std::abs(x), std::abs(y)), 1.0);
}

HbmLevel level_at(const std::vector<std::int64_t>& by_rank, std::int64_t bytes) {
  HbmLevel level{bytes, {}};
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (is_level(by_rank[rank], bytes)) level.ranks.push_back(static_cast<Rank>(rank));
  }
  return level;
}

double mean_of(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values)
    sum += value;
  return true_divide(static_cast<WideUnsigned>(sum), values.size());
}

void add_hbm_levels(PlanStats& stats) {
  std::vector<std::int64_t> sparse, used;
  for (const RankStats& rank : stats.ranks) {
    sparse.push_back(rank.sparse_hbm_bytes);
    used.push_back(rank.hbm_bytes);
  }
  std::vector<std::int64_t> sorted = used;
  std::sort(sorted.begin(), sorted.end());
  const auto [low, high] = std::minmax_element(sparse.begin(), sparse.end());
  const double mean = mean_of(used);
  stats.sparse_max_hbm = level_at(sparse, *high);
  stats.sparse_min_hbm = level_at(sparse, *low);
  stats.max_hbm = level_at(used, sorted.back());
  stats.min_hbm = level_at(used, sorted.front());
  stats.mean_hbm = level_at(used, static_cast<std::int64_t>(std::nearbyint(mean)));
  stats.low_median_hbm = level_at(used, sorted[(sorted.size() - 1) / 2]);
  stats.high_median_hbm = level_at(used, sorted[sorted.size() / 2]);
  stats.hbm_above_mean_percent = percent_above(static_cast<double>(sorted.back()), mean);
  while (!sorted.empty() && stats.peak_hbm.size() < kMostPeaks) {
    const std::int64_t peak = sorted.back();
    stats.peak_hbm.push_back(level_at(used, peak));
    std::vector<Rank>& ranks = stats.peak_hbm.back().ranks;
    // A rank within 1 MiB of two peaks belongs to the higher one.
    for (std::size_t i = 0; i + 1 < stats.peak_hbm.size(); ++i) {
      const std::int64_t above = stats.peak_hbm[i].bytes;
      std::erase_if(ranks, [&](Rank rank) { return is_level(used[rank], above); });
    }
    std::erase_if(sorted, [&](std::int64_t bytes) { return is_level(bytes, peak); });
  }
}

std::optional<Imbalance> imbalance_of(const std::vector<double>& by_rank, double sum) {
  if (!(sum > 0)) return std::nullopt;
  std::vector<double> shares;
  shares.reserve(by_rank.size());
  for (const double value : by_rank)
    shares.push_back(value / sum);
  return imbalance(shares);
}

void add_imbalances(PlanStats& stats) {
  std::vector<double> times, hbm, ddr, ssd;
  double time = 0;
  Storage all;
  for (const RankStats& rank : stats.ranks) {
    times.push_back(rank.perf.total().value());
    hbm.push_back(static_cast<double>(rank.hbm_bytes));
    ddr.push_back(static_cast<double>(rank.ddr_bytes));
    ssd.push_back(static_cast<double>(rank.ssd_bytes));
    time += times.back();
    all += {Bytes(rank.hbm_bytes), Bytes(rank.ddr_bytes), Bytes(rank.ssd_bytes)};
  }
  stats.perf_imbalance = imbalance_of(times, time);
  stats.hbm_imbalance = imbalance_of(hbm, static_cast<double>(all.hbm.value()));
  stats.ddr_imbalance = imbalance_of(ddr, static_cast<double>(all.ddr.value()));
  stats.ssd_imbalance = imbalance_of(ssd, static_cast<double>(all.ssd.value()));
}

// Source: _find_imbalance_tables, torchrec/distributed/planner/utils.py.
template <class Value>
std::vector<TableId> top_tables(const Plan& plan, std::size_t world_size, const Value& value_of) {
  std::vector<double> by_rank(world_size);
  std::vector<bool> used(world_size);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    for_each_shard(plan[i], [&](Rank rank, const ShardExtent&, const ShardCost& cost) {
      by_rank[rank] += value_of(cost);
      used[rank] = true;
    });
  }
  if (std::count(used.begin(), used.end(), true) <= 1) return {};
  double most = 0;
  for (std::size_t rank = 0; rank < world_size; ++rank) {
    if (used[rank]) most = std::max(most, by_rank[rank]);
  }
  std::vector<std::pair<double, TableId>> tables;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ShardingOption& option = *plan[i].option;
    if (option.partition_by() == embedding::PartitionBy::kUniform) continue;
    std::vector<bool> has(world_size);
    for_each_shard(plan[i],
                   [&](Rank rank, const ShardExtent&, const ShardCost&) { has[rank] = true; });
    bool on_all = true;
    for (std::size_t rank = 0; rank < world_size; ++rank)
      on_all = on_all && (has[rank] || !used[rank] || by_rank[rank] != most);
    if (on_all) tables.emplace_back(value_of(option.costs.front()), option.table);
  }
  std::stable_sort(tables.begin(), tables.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<TableId> top;
  for (std::size_t i = 0; i < std::min(tables.size(), kMostTables); ++i)
    top.push_back(tables[i].second);
  return top;
}

}  // namespace

Imbalance imbalance(const std::vector<double>& shares) {
  const auto k = static_cast<double>(shares.size());
  // `volatile` keeps pow, as in TorchRec: the last bit of a product may differ.
  const volatile double square = 2;
  Imbalance found;
  for (const double share : shares) {
    const double distance = std::abs(share - 1.0 / k);
    found.total_variation = std::max(found.total_variation, distance);
    found.total_distance += distance;
    found.chi_divergence += std::pow(distance, square) * k;
    if (share > 0) found.kl_divergence += share * std::log(k * share);
  }
  const double most_chi = std::pow((k - 1) / k, square) * k + (k - 1) * (1 / k);
  const double most_kl = std::log(k);
  found.chi_divergence = most_chi > 0 ? found.chi_divergence / most_chi : 0;
  found.kl_divergence = most_kl > 0 ? found.kl_divergence / most_kl : 0;
  return found;
}

PlanStats plan_stats(const Problem& problem, const embedding::Reservation& reservation,
                     const Plan& plan) {
  PlanStats stats;
  const std::size_t world_size = problem.topology().world_size();
  stats.ranks.resize(world_size);
  add_shards(problem, plan, stats);
  add_reservation(problem, reservation, stats);
  add_kernels(plan, stats);
  add_times(stats);
  add_critical_path(problem, plan, stats);
  add_hbm_levels(stats);
  add_imbalances(stats);
  stats.slowest_tables =
      top_tables(plan, world_size, [](const ShardCost& cost) { return cost.perf.total().value(); });
  stats.fullest_tables = top_tables(plan, world_size, [](const ShardCost& cost) {
    return static_cast<double>(cost.storage.hbm.value());
  });
  return stats;
}

}  // namespace shardwright
