// Improves a plan by moving single shards.
#pragma once

#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/questions/replan/blend/blend_incumbent.h"

namespace shardwright::embedding {

// Steepest descent from `from`: each step is the best one that unloads the fullest rank or, if none
// is overfull, the slowest. A step moves a shard to another rank, exchanges two shards, or gives a
// table its assignment in `toward`. Tables that placement rules name change in the last way only.
// Considers the plan at the end. Steps are chosen with `weight_factor` times the weight of moved
// bytes, which leads to other local optima.
// Precondition: both plans have the same tables in the same order. Cost: at most 4 million
// updates of ranks and shards. An interrupted budget ends it early; its work limit does not.
void descend(const Plan& from, const Plan& toward, double weight_factor, BlendIncumbent& incumbent,
             Budget& budget);

}  // namespace shardwright::embedding
