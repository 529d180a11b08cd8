// Infers from a planner's log what its estimates were made with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "runtime/embedding/log_problem.h"
#include "runtime/embedding/planner_log.h"
#include "search/budget.h"

namespace shardwright::embedding {

enum class InferredFrom : std::uint8_t { kLog, kFlag, kDefault };

template <>
struct EnumNames<InferredFrom> {
  static constexpr std::string_view kWhat = "source";
  static constexpr std::array<std::string_view, 3> kNames{"log", "flag", "default"};
};

}  // namespace shardwright::embedding

namespace shardwright {

using embedding::InferredFrom;

// What the caller knows. Bandwidths are in bytes per ms.
struct KnownConstants {
  std::optional<std::int64_t> ranks_per_host;
  std::optional<embedding::DataType> weights, communication, reduction;
  std::optional<double> memory_bw, intra_host_bw, inter_host_bw;
};

// How far the estimates are from a printed column, relative to what is printed and beyond its
// digits. Absent if no table prints enough digits.
struct FitOfColumn {
  std::optional<double> median;
  std::optional<double> worst;
  std::vector<std::size_t> not_followed;  // tables, by number in the log
};

struct LogFit {
  LogConstants constants;
  struct Sources {
    InferredFrom weights = InferredFrom::kLog;
    InferredFrom communication = InferredFrom::kLog;
    InferredFrom reduction = InferredFrom::kLog;
    InferredFrom memory_bw = InferredFrom::kLog;
    InferredFrom intra_host_bw = InferredFrom::kLog;
    InferredFrom inter_host_bw = InferredFrom::kLog;
    InferredFrom ranks_per_host = InferredFrom::kLog;
  } from;
  FitOfColumn compute, communication, total, memory;
  std::vector<bool> follows;  // by table: total and memory agree
  // Returns true if the constants explain enough of the tables for plans with other options.
  bool explains() const;
};

// Compares the printed columns with TorchRec's estimates under every combination of data types and
// releases, and takes the one that most tables agree with. A bandwidth is the one that the most
// printed intervals agree with, rounded to a round number of GiB/s within them. Errors:
// kInvalidInput for a number of ranks per host that the log contradicts, with the line; kStopped.
// Cost: O(combinations x min(tables, 400) + tables).
Result<LogFit> fit_log(const PlannerLog& log, const KnownConstants& known, const Budget& budget);

}  // namespace shardwright
