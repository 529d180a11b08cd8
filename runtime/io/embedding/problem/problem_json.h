// Reads embedding problems: our problem files and the table lists of workloads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright {

// Values that take the place of what the file says.
struct ProblemOverrides {
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_host;
  std::optional<std::int64_t> hbm_bytes;  // per rank; replaces sizes per rank too
  std::optional<std::int64_t> ddr_bytes;
  std::optional<std::int64_t> batch_size;  // samples per rank
  std::optional<embedding::ComputeDevice> device;
};

// By the numbers of ReservationSpec::Type.
inline constexpr std::array<std::string_view, 4> kReservationTypeNames{"heuristical", "fixed",
                                                                       "inference", "none"};

// Reads a problem (formats: `shardwright.embedding/1`). Names of vocabularies are read without
// case. In a workload, `pooling_factor` becomes the pooling factors of the table's constraints
// unless those are given, and the first entry of `meta.topologies` is used where the file has no
// `topology`; a `global_batch` is divided by the number of ranks, rounded down. Ranges are left to
// Problem::make.
// Errors: kInvalidInput with `where` = the JSON pointer, or line and column of a syntax error.
Result<embedding::ProblemSpec> read_problem(std::string_view text,
                                            const ProblemOverrides& overrides = {});

// Reads the keys of a problem file other than `tables` into `spec`, whose tables `constraints` and
// placement rules may name. Keys that are absent leave `spec` as it is. Errors: as read_problem();
// `tables` is an unknown key here.
Result<embedding::ProblemSpec> read_problem_settings(std::string_view text,
                                                     embedding::ProblemSpec spec);

}  // namespace shardwright
