// Replans with several weights of moved bytes, and chooses among the plans.
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

// Without `max_move_bytes`, the answer is the plan that moves the fewest bytes among those that
// rate at most this fraction worse than the best plan found.
inline constexpr double kWorthMoving = 0.01;

// Returns the fastest plan found that moves at most `max_move_bytes`, by default the plan described
// at kWorthMoving. `front` lists the plans found that no other one beats in both rating and bytes.
// `front_bound` is a lower bound on the rating of all plans that move at most `front_bytes`: the
// given bytes, or those of the answer. The bound is L(w) - w x GiB, where L(w) is the bound on
// rating + w x GiB moved. Runs the planner once and searches with at most eight weights within the
// work limit; ignores `options.migration_weight`. Errors: as
// replan_embedding(); kInfeasible at "max_move" if every plan found moves more.
Result<EmbeddingPlanResult> replan_on_front(
    std::shared_ptr<const embedding::Problem> problem, const std::vector<PlanEntry>& old,
    const ReplanOptions& options, std::optional<std::int64_t> max_move_bytes,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
