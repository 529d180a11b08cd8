// The public entry for comparing machines: plans for many sizes of machine, memory and batch.
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

// The answer for one combination of the grid.
struct SweepPoint {
  std::int64_t ranks = 0;
  std::int64_t ranks_per_host = 0;
  std::optional<std::int64_t> hbm_bytes;  // per rank; absent if ranks differ or have no HBM
  std::int64_t batch_size = 0;
  std::optional<std::int64_t> sharding_group_size;  // absent without sharding groups
  std::optional<std::int64_t> pod_size;             // hosts; absent without pods
  std::optional<double> rating;       // ms, or bytes for the storage model; absent if no plan
  std::optional<double> lower_bound;  // best mode only
  std::int64_t peak_hbm_bytes = 0;    // of the fullest rank, reservation included
  std::int64_t peak_ddr_bytes = 0;
  std::optional<std::int64_t> peak_ssd_bytes;  // where the problem counts SSD
  std::optional<PlanFailure> failure;          // absent if the problem does not count SSD
  StopReason stopped_by = StopReason::kFinished;
  std::optional<embedding::Plan> plan;
  std::optional<double> price_per_hour;  // why there is no plan
  std::optional<Error> invalid;          // why the machine is invalid, with the place

  bool fits() const { return rating.has_value(); }
};

struct Sweep {
  std::vector<SweepPoint> points;  // by ranks, batch size and memory, in the order of the grid
  int threads = 1;
  double total_s = 0;

  bool any_fits() const;
};

// Plans every combination in turn with `options`; a work limit applies to each point. Points that
// differ only in memory share options and costs. In best mode each such point starts from the plan
// of the point with less memory: if that point fits, this one fits and rates no worse, and its
// bound holds for that point, too. An invalid machine becomes a point with `invalid` set. Errors:
// as check_grid(); as plan_embedding() if no combination is valid.
//
// With a dealer, several processes share the points; points that differ only in memory go to one
// process. The first process returns all points, without plans; the other processes return no
// points. The points of a lost process count as left out by a stop.
Result<Sweep> sweep_embedding(const embedding::ProblemSpec& problem,
                              const embedding::SweepGrid& grid, const PlanOptions& options,
                              TaskDealer* dealer = nullptr);

}  // namespace shardwright
