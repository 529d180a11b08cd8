// The cheapest correct plan from one placement to another that is known.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "core/program/dist_attr.h"
#include "core/program/reshard_plan.h"
#include "core/status.h"
#include "search/program/tensor/cost_model.h"
#include "search/redistribution/path/path.h"

namespace shardwright::program {

// Thread safety: a value.
struct BestPlan {
  ReshardPlan plan;
  double us = 0;                   // time of the slowest rank
  // Set if the plan consists of collectives on one mesh.
  std::optional<redistribution::Path> path;
};

// Every message is a step of two ranks, about 1.4 kB in all.
inline constexpr std::int64_t kMaxMoves = std::int64_t{1} << 20;

// Compares collectives along mesh axes (found by find_path()), messages
// from ranks that hold a part to ranks that want it, both in sequence (reductions first, then
// messages, then collectives on the target mesh), and Paddle's plan where it is correct. Supports
// every pair of placements that check() accepts, including uneven pieces and overlapping meshes.
// Deterministic.
// Errors: kUnsupported if only messages would do and there would be more than kMaxMoves; kStopped.
Result<BestPlan> plan_best(const Cluster& cluster, const Shape& shape, DataType type,
                           const DistAttr& source, const DistAttr& target,
                           const std::stop_token& stop = {});

}  // namespace shardwright::program
