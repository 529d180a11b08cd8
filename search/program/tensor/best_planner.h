// The cheapest correct plan from one placement to another that is known.
#pragma once

#include <optional>

#include "search/program/tensor/mesh_chain.h"

namespace shardwright::program {

// Thread safety: a value.
struct BestPlan {
  ReshardPlan plan;
  double us = 0;                   // time of the slowest rank
  std::optional<MeshChain> chain;  // set if the plan consists of collectives on one mesh
};

// Compares collectives along mesh axes (found by Dijkstra's algorithm over placements), messages
// from ranks that hold a part to ranks that want it, both in sequence (reductions first, then
// messages, then collectives on the target mesh), and Paddle's plan where it is correct. Supports
// every pair of placements that check() accepts, including uneven pieces and overlapping meshes.
// Deterministic.
BestPlan plan_best(const Cluster& cluster, const Shape& shape, DataType type,
                   const DistAttr& source, const DistAttr& target);

}  // namespace shardwright::program
