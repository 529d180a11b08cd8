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
#include "search/embedding/questions/sweep_grid.h"

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
  std::optional<double> price_per_hour;  // of all ranks; absent without prices
  std::optional<Error> invalid;          // why there can be no such machine, with the place

  bool fits() const { return rating.has_value(); }
};

struct Sweep {
  std::vector<SweepPoint> points;  // by ranks, batch size and memory, in the order of the grid
  int threads = 1;
  double total_s = 0;

  bool any_fits() const;
};

// Plans every combination, one after the other, each with `options`: a work limit is per point.
// Points that differ in memory alone share options and costs. In best mode each of these points
// starts from the plan of the point with less memory, so it fits if that point fits and rates no
// worse; its bound holds for that point, too. A combination that is no valid machine is a point
// whose `invalid` says why. Errors: as check_grid(); as plan_embedding(), if no combination is
// valid.
//
// With a dealer, several processes share the points; points that differ in memory alone go to one
// process. The first process has the answer, in which points have no plans; the other processes
// return no points. The points of a lost process count as left out by a stop.
// Thread safety: may be called from any number of threads at once.
Result<Sweep> sweep_embedding(const embedding::ProblemSpec& problem,
                              const embedding::SweepGrid& grid, const PlanOptions& options,
                              TaskDealer* dealer = nullptr);

}  // namespace shardwright
