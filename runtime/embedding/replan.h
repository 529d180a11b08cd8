// The public entry for planning again: from a plan that is in use to one for a changed problem.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

struct ReplanOptions {
  PlanOptions plan;
  // What moving a GiB is worth, in ms of rating (units of the rating, for the storage model). At 0
  // the rating comes first, and among plans of equal rating the one that moves least.
  double migration_weight = 0;
  // The rating of the old plan where best mode made it. A plan that still has it, for the same
  // tables, was made for this very problem: nothing moves.
  std::optional<double> best_mode_rating;
};

// Plans `problem` from the plan `old` of an earlier one: tables that are gone are dropped; new
// tables, and those whose option or ranks do not exist any more, are placed anew; the rest is where
// the search begins. The answer minimises rating + weight x GiB moved over the old plan kept as far
// as possible, every plan that the search finds on its way, and plans between them, table by table;
// so it never costs more than the old plan kept, where that fits. Where moving nothing costs at
// most kProvenGap more, relatively, nothing moves. `migration` of the result says what changes.
// Exact mode's search knows nothing of the old plan; its plan is one of those compared.
// Errors: as plan_embedding(); kInvalidInput with the JSON pointer in the plan file where a table
// is in the old plan twice, or a rank is none.
// Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> replan_embedding(
    std::shared_ptr<const embedding::Problem> problem, const std::vector<PlanEntry>& old,
    const ReplanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
