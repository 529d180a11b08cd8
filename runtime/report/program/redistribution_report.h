// The numbers of a redistribution's report, before they are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/redistribution/placement/box.h"
#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement.h"
#include "runtime/redistribution/plan_redistribution.h"

namespace shardwright {

// Elements, and the ranks that hold them: copies of each other, or terms of partial values.
struct ReportedBox {
  redistribution::Box box;
  std::vector<std::int64_t> ranks;  // ascending
};

// How the tensor lies between two steps.
struct ReportedState {
  redistribution::Placement placement;
  std::int64_t held_bytes = 0;  // by the largest rank
  // Distinct, in row-major order of the tensor; boxes without elements are left out. None if the
  // mesh has more than kMostDrawnRanks.
  std::vector<ReportedBox> boxes;
};

struct ReportedStep {
  redistribution::Move move;
  std::int64_t sent_bytes = 0;  // by the rank that sends most
  double us = 0;
  std::size_t after = 0;  // of RedistributionReport::states
};

struct ReportedPath {
  double us = 0;
  bool is_optimal = true;
  std::int64_t peak_bytes = 0;
  std::int64_t sent_bytes = 0;
  std::vector<ReportedStep> steps;
};

// Paths as reports show them. Thread safety: a value.
struct RedistributionReport {
  // Larger meshes have too many boxes for a drawing.
  static constexpr std::int64_t kMostDrawnRanks = 1024;

  RedistributionCase request;
  RedistributionOptions options;
  std::vector<ReportedState> states;  // distinct; all paths begin with the first one
  std::vector<ReportedPath> paths;
};

// Preconditions: paths of the request. O(states * ranks * log ranks), at most kMostDrawnRanks.
RedistributionReport make_redistribution_report(const RedistributionCase& request,
                                                const RedistributionOptions& options,
                                                std::span<const PlannedRedistribution> paths);

}  // namespace shardwright
