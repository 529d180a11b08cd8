// From an old placement to a new one: what moves buy.
#pragma once

#include <cstddef>
#include <vector>

#include "search/experts/plan_experts.h"
#include "search/experts/pool_search.h"

namespace shardwright::experts {

// A placement of one layer that is worth its moves. Thread safety: a value.
struct LayerPoint {
  std::size_t moves = 0;
  double time = 0;
  std::vector<Expert> slots;
};

// Renumbers nodes, and GPUs within nodes, so that most slots keep their expert's GPU; then gives
// the slots of a GPU to experts that were in them. GPUs of different speeds, and over 512 GPUs,
// keep their numbers. O(gpus^3 + slots).
std::vector<Expert> align(const ExpertProblem& problem, const std::vector<Expert>& slots,
                          const Expert* old);

// Orders the slots of every GPU so that an expert which stays on its GPU keeps its slot.
void keep_slots(const ExpertProblem& problem, Expert* slots, const Expert* old);

// Sorts points by moves and keeps the lower convex hull: every further move buys less.
std::vector<LayerPoint> convex_front(std::vector<LayerPoint> points);

// Chooses a point of every layer's front: those whose moves buy more than `rules.migration_weight`
// each, or at most `rules.max_moves` with the best gain per move. Sets `front` to the sums over
// layers. Precondition: every front has a point. O(points log points).
std::vector<std::size_t> choose_points(const std::vector<std::vector<LayerPoint>>& fronts,
                                       const PlanRules& rules, std::vector<MovesPoint>& front);

}  // namespace shardwright::experts
