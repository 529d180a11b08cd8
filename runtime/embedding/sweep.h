// The public entry for choosing a machine: plans for many sizes of machine, memory and batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"
#include "search/embedding/questions/sweep/sweep_grid.h"

namespace shardwright {

class TaskDealer;

// What was found for one combination.
struct SweepPoint {
  std::int64_t ranks = 0;
  std::int64_t ranks_per_host = 0;
  std::optional<std::int64_t> hbm_bytes;  // per rank; absent if ranks differ or have no HBM
  std::int64_t batch_size = 0;
  std::optional<std::int64_t> sharding_group_size;  // absent without sharding groups
  std::optional<std::int64_t> pod_size;             // hosts; absent without pods
  std::optional<double> rating;       // ms, or bytes for the storage model; absent if nothing fits
  std::optional<double> lower_bound;  // best mode
  std::int64_t peak_hbm_bytes = 0;    // of the fullest rank, reservation included
  std::int64_t peak_ddr_bytes = 0;
  std::optional<std::int64_t> peak_ssd_bytes;  // where the problem counts SSD
  std::optional<PlanFailure> failure;          // why nothing fits
  StopReason stopped_by = StopReason::kFinished;
  std::optional<embedding::Plan> plan;

  bool fits() const { return rating.has_value(); }
};

struct Sweep {
  std::vector<SweepPoint> points;  // by ranks, batch size and memory, in the order of the grid
  int threads = 1;
  double total_s = 0;

  bool any_fits() const;
};

// The first clause of why a point does not fit; empty if it fits.
std::string why_not(const SweepPoint& point);

// The smallest number of ranks that fits for one memory and batch size.
struct SmallestMachine {
  std::optional<std::int64_t> hbm_bytes;
  std::int64_t batch_size = 0;
  std::optional<std::int64_t> ranks;  // absent if none fits
};
// In the order of the points.
std::vector<SmallestMachine> smallest_machines(const Sweep& sweep);

// Indices of the best-rated points, one for every number of ranks and batch size that fits at all,
// in the order of the points.
std::vector<std::size_t> best_by_ranks(const Sweep& sweep);

// Plans every combination, one after the other, each with `options`: a work limit is per point.
// Points that differ in memory alone share options and costs. In best mode each of these points
// starts from the plan of the one with less memory, so more memory never fits less nor rates worse,
// and its bound holds for less memory, too. Errors: kInvalidInput for an invalid combination (hosts
// do not divide the ranks, a number below 1) and as plan_embedding().
//
// With a dealer, processes plan the points, those that differ in memory alone in one process. The
// first process has the answer; in the others it has no points. Points have no plans then. If a
// process was lost, what it planned counts as left out by a stop.
// Thread safety: may be called from any number of threads at once.
Result<Sweep> sweep_embedding(const embedding::ProblemSpec& problem,
                              const embedding::SweepGrid& grid, const PlanOptions& options,
                              TaskDealer* dealer = nullptr);

}  // namespace shardwright
