// The statistics that TorchRec's planner prints of a plan, as values.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/units.h"

namespace shardwright {

// Half a unit of the last digit of what is printed with three decimals: times in ms, memory in GiB.
inline constexpr double kPrintedHalfUnit = 0.0005;

// Returns the bytes that are nearest to a printed size.
inline std::int64_t printed_bytes(double gib) {
  return static_cast<std::int64_t>(std::llround(gib * static_cast<double>(kGibibyte)));
}

// A time in ms. The parts are printed as whole numbers, or with one digit if they are below 1.
struct LoggedTime {
  double total = 0;
  // In the order of embedding::Perf: forward compute, forward communication, backward compute,
  // backward communication, prefetch.
  std::vector<double> parts{0, 0, 0, 0, 0};
  std::array<double, 5> half_units{};  // how far the printed parts may be off
};

// A row of the section `Parameter Info`.
struct LoggedTable {
  std::size_t line = 0;  // in the log, from 1
  std::string module;    // path of the module; may be empty
  std::string name;
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  LoggedTime time;                           // of all shards
  embedding::PerTier<double> storage_gib{};  // of all shards
  std::optional<double> load_factor;         // cached rows / rows
  double pooling_factor = 0;                 // lookups per sample, over all features
  double num_poolings = 0;
  double num_indices = 0;
  bool is_pooled = true;
  bool is_weighted = false;
  std::string sharder;
  std::int64_t num_features = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t shard_columns = 0;         // of the first shard
  std::vector<std::int64_t> ranks;        // of the shards, ascending
  std::vector<std::int64_t> batch_sizes;  // by feature; empty if not printed
};

struct LoggedShards {
  embedding::ShardingType type = embedding::ShardingType::kTableWise;
  std::int64_t count = 0;
};

// A row of the section of ranks.
struct LoggedRank {
  LoggedTime time;
  double hbm_gib = 0;  // of tables, dense modules and inputs
  double ddr_gib = 0;
  double hbm_share = 0;  // of the planner's HBM, in whole percent
  double input_mib = 0;
  double output_mib = 0;
  std::vector<LoggedShards> shards;
};

// One plan of a log. Memory is in GiB, printed with three decimals; absent if the log is cut before
// it or does not print it.
// Thread safety: a value.
struct PlannerLog {
  std::size_t line = 0;       // of `--- Planner Statistics ---`
  std::size_t num_plans = 1;  // in the log
  std::int64_t num_proposals = 0;
  double run_time_s = 0;
  std::vector<LoggedRank> ranks;
  std::vector<LoggedTable> tables;
  std::optional<std::int64_t> batch_size;  // samples per rank
  std::optional<double> reserved_hbm;  // share of the HBM that the planner leaves free, per rank
  std::optional<double> planning_hbm;  // per rank
  std::optional<double> planning_ddr;
  embedding::PerTier<double> dense{};  // per rank
  embedding::PerTier<double> inputs{};
  std::optional<double> largest_time_ms;  // `Maximum of Total Perf`
  std::optional<double> mean_time_ms;
  bool is_cut = false;  // the log ends before the frame does
};

// What TorchRec's planner says if it finds no plan. Memory is in GiB.
// Thread safety: a value.
struct FailedPlanning {
  std::size_t line = 0;
  bool is_short_of_memory = false;  // else constraints, or no way to place the shards
  std::int64_t ranks = 0;
  std::int64_t batch_size = 0;
  embedding::PerTier<double> rank{};           // of a rank's hardware
  embedding::PerTier<double> available{};      // of all ranks, for tables
  embedding::PerTier<double> needed{};         // by the proposal that needs the least
  std::optional<double> reserved_share;        // of a rank's HBM
  std::optional<double> dense_hbm, input_hbm;  // reserved on every rank
  std::string last_error;
};

}  // namespace shardwright
