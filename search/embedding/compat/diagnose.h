// The diagnosis of a search in which no proposal fits.
#pragma once

#include <span>

#include "core/embedding/plan_failure.h"
#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Says which table, or which total, lacks how many bytes. `lowest`: the failed proposal of least
// total storage; `lowest_storage`: its total storage. Cost: O(options x ranks) at worst, plus one
// placement. If the budget is interrupted first, the reason is kStopped.
PlanFailure diagnose(const OptionPool& pool, const Topology& available,
                     std::span<const OptionId> lowest, Storage lowest_storage,
                     const Budget& budget = {});

}  // namespace shardwright::embedding
