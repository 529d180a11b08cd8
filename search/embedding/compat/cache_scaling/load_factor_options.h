// The caches of other sizes that best mode chooses from.
#pragma once

#include <memory>
#include <optional>

#include "core/embedding/plan.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/compat/estimate/cost_model.h"
#include "search/executor.h"

namespace shardwright::embedding {

// The space in which best mode searches: `space` and, for every table whose load factor best mode
// chooses, its options with a cache at every load factor of its set
// (core/embedding/caches/load_factors.h) that the space lacks. Returns `space` itself if no table
// has a choice or if the space was extended before. Tables are estimated in parallel, by
// `cost_model` or else by the Estimator. Errors: those of the cost model; kInvalidInput if a cost
// cannot be used; kStopped if the budget is interrupted.
Result<std::shared_ptr<const SearchSpace>> with_load_factors(
    std::shared_ptr<const SearchSpace> space, Executor& executor, const Budget& budget = {},
    const CostModel* cost_model = nullptr);

// `plan`, of declared options and caches that scale-up resized, as a plan of the extended space.
// Ranks stay and are shared. A cache that the space lacks becomes the largest one that is no
// larger. Empty if the space lacks another option.
std::optional<Plan> on_load_factors(const std::shared_ptr<const SearchSpace>& space,
                                    const Plan& plan);

}  // namespace shardwright::embedding
