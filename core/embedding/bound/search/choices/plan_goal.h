// Which plans are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/moves/held_plan.h"

namespace shardwright::embedding {

// Which options count, and on which ranks their shards may be.
struct PlaceDomain {
  std::vector<std::uint32_t> classes;        // of ranks, as bits; by option, 0 if it does not count
  std::vector<std::uint32_t> class_of_rank;  // by rank
};

struct PlanGoal {
  // A plan must rate less. Without this, any plan counts that evaluate() accepts.
  std::optional<double> below;
  // With an old plan, it is the rating + weight x GiB moved from it that must be less. Borrowed.
  const HeldPlan* held = nullptr;
  // If given, only plans within it count. Borrowed.
  const PlaceDomain* within = nullptr;
  // If not 0, the search goes on after each plan that it finds, for one that rates less by this
  // part. Only with `below`.
  double improvement = 0;
  // Ranks are filled one after the other, too, where the prices promise that.
  bool may_fill = true;
};

}  // namespace shardwright::embedding
