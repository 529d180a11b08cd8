// Tables that are nearly equal, as equal ones.
#pragma once

#include <vector>

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// A relaxation of the rows' model: only the choices of the domain are left, and of tables that
// differ little every shard takes what the smallest of its counterparts does. So does every shard
// of a choice on all ranks, or on whole hosts. What bounds this model bounds the other one, and
// dual values of its shards are dual values there.
//
// At the multipliers, no choice becomes cheaper by more than the part `step` of its cost, or by the
// part `dear_step` of its reduced cost: plans below the target have few choices with a large one.
// Beyond that, shards lose what is below the part `step` of a table's mean share, and the part
// `dear_step` of what has no price.
// Precondition: every table has a choice in the domain.
// O(choices x log tables).
ChoiceModel coarse_model(const BoundRows& rows, const Domain& domain, double target,
                         const std::vector<CapacityMultipliers>& multipliers, double step,
                         double dear_step);

}  // namespace shardwright::embedding
