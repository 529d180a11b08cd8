// The cheapest correct way from one placement to another that is known.
#pragma once

#include <optional>

#include "search/program/tensor/mesh_chain.h"

namespace shardwright::program {

// Thread safety: a value.
struct BestPlan {
  ReshardPlan plan;
  double us = 0;
  std::optional<MeshChain> chain;  // where collectives on one mesh do it all
};

// Compares collectives along mesh axes (found by Dijkstra's algorithm over placements), messages
// from owners to those who want, and both in sequence: reductions first, then messages, then
// collectives on the target mesh. Defined for every pair that check() accepts, uneven pieces and
// overlapping meshes included. Deterministic.
BestPlan plan_best(const Cluster& cluster, const Shape& shape, DataType type,
                   const DistAttr& source, const DistAttr& target);

}  // namespace shardwright::program
