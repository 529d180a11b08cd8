// Plans anew for several weights of moved bytes, and chooses among the plans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/replan.h"

namespace shardwright {

// Without `max_move_bytes`, the answer moves least among the plans that rate at most this part
// above the best one found.
inline constexpr double kWorthMoving = 0.01;

// Returns the fastest plan found that moves at most `max_move_bytes`, or by default the plan
// described at kWorthMoving. The result lists all plans found that are not beaten in both measures
// (`front`), and a bound on the rating of every plan that moves no more than the answer
// (`front_bound`): with the bound L(w) on rating + w x GiB moved, that is L(w) - w x GiB.
// replan_embedding() runs at most nine times and shares the work limit. `options.migration_weight`
// is not read. Errors: as replan_embedding(); kInfeasible at "max_move" if every plan found moves
// more.
Result<EmbeddingPlanResult> replan_on_front(
    std::shared_ptr<const embedding::Problem> problem, const std::vector<PlanEntry>& old,
    const ReplanOptions& options, std::optional<std::int64_t> max_move_bytes,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
