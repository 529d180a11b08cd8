// The public entry for choosing a machine: many sizes of machine, memory and batch in one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

// Values to combine, each with each. An empty list means what the problem says.
struct SweepGrid {
  std::vector<std::int64_t> ranks;
  // Of one host, at most the ranks there are; unset: what the problem says.
  std::optional<std::int64_t> ranks_per_host;
  std::vector<std::int64_t> hbm_bytes;    // per rank
  std::vector<std::int64_t> batch_sizes;  // samples per rank
  // Where `batch_sizes` is empty, one per entry of `ranks`; empty: what the problem says.
  std::vector<std::int64_t> batch_size_of_ranks;
};

struct SweepPoint {
  std::int64_t ranks = 0;
  std::int64_t ranks_per_host = 0;
  std::optional<std::int64_t> hbm_bytes;  // per rank; absent where ranks differ or have none
  std::int64_t batch_size = 0;
  // Absent where nothing fits.
  std::optional<double> rating;       // ms, or bytes for the storage model
  std::optional<double> lower_bound;  // best mode
  std::int64_t peak_hbm_bytes = 0;    // of the fullest rank, reservation included
  std::int64_t peak_ddr_bytes = 0;
  std::optional<PlanFailure> failure;  // why nothing fits
  std::string stopped_by;              // as in EmbeddingPlanResult
  std::optional<embedding::Plan> plan;

  bool fits() const { return rating.has_value(); }
};

struct Sweep {
  std::vector<SweepPoint> points;  // by ranks, batch size and memory, in the order of the grid
  int threads = 1;
  double total_s = 0;

  bool any_fits() const;
};

// The first clause of why a point does not fit; empty where it does.
std::string why_not(const SweepPoint& point);

// The smallest number of ranks that fits, for every memory and batch size; ranks absent where none
// does. In the order of the points.
struct SmallestMachine {
  std::optional<std::int64_t> hbm_bytes;
  std::int64_t batch_size = 0;
  std::optional<std::int64_t> ranks;
};
std::vector<SmallestMachine> smallest_machines(const Sweep& sweep);

// The point of best rating for every number of ranks and batch size that fits at all, as indices
// into the points, in their order.
std::vector<std::size_t> best_by_ranks(const Sweep& sweep);

// Plans every combination, one after the other, each with `options` (a work limit is per point).
// Points that differ in memory alone share options and costs. In best mode, a point begins with the
// plan of the one with less memory, so that more memory never fits less nor rates worse; its bound
// holds for less memory, too.
// Errors: kInvalidInput for a combination that is none (ranks that hosts do not divide, numbers
// below 1) and as plan_embedding().
// Thread safety: may be called from any number of threads at once.
Result<Sweep> sweep_embedding(const embedding::ProblemSpec& problem, const SweepGrid& grid,
                              const PlanOptions& options);

}  // namespace shardwright
