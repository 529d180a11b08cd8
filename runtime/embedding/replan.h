// The public entry for planning a changed problem from the plan in use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"
#include "search/budget.h"

namespace shardwright {

struct ReplanOptions {
  PlanOptions plan;
  // Cost of moving a GiB, in units of the rating (ms; bytes for the storage model). With 0 the best
  // rating wins, and among plans of equal rating the one that moves least.
  double migration_weight = 0;
  // The rating of the old plan, if best mode made it for this very problem (best_mode_rating() of
  // reuse.h). If the plan still has this rating for the same tables, nothing moves.
  std::optional<double> best_mode_rating;
};

// Plans `problem` from `old`, the plan of an earlier problem. Tables that are gone are dropped. New
// tables, and tables whose option or ranks no longer exist, are placed anew. The result is called
// the old plan kept; the search starts from it. With a weight, the planner has half of the work and
// time; a search that minimises rating + weight x GiB moved has the rest and begins with the old
// plan kept, every better plan that the planner found, and plans between these. So the answer never
// costs more than any of them. `migration` has the cost of the answer, a bound below the cost of
// every plan of the search space, and its certificate. Without a weight the best rating wins, and
// nothing moves if staying costs at most kProvenGap more, relatively, or if the old plan is best
// mode's plan for the very same problem. The answer shares with the old plan kept everything that
// did not change; `work.plans` counts what was copied; `migration` of the result says what changes.
// Compat mode's planner does not look at the old plan. Errors: as plan_embedding(); kInvalidInput
// with the JSON pointer in the plan file if a table is in the old plan twice or a rank is invalid.
// Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> replan_embedding(
    std::shared_ptr<const embedding::Problem> problem, const std::vector<PlanEntry>& old,
    const ReplanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

// What changes from `old` to `plan`, or to no plan, as replan_embedding() reports it. `available`
// is the topology after reservation and margin. Errors: kInvalidInput as replan_embedding() for
// `old`.
Result<Migration> migration_from(std::shared_ptr<const embedding::Problem> problem,
                                 std::shared_ptr<const embedding::SearchSpace> search_space,
                                 const embedding::Topology& available,
                                 const std::vector<PlanEntry>& old,
                                 const std::optional<embedding::Plan>& plan,
                                 double migration_weight);

// Checks with core that no plan of the space has a rating + weight x GiB moved from `old` below the
// bound of the certificate, unless the budget ends before. Returns what is wrong, or nothing.
// Errors: as migration_from().
Result<std::optional<std::string>> check_migration_bound(
    const std::shared_ptr<const embedding::SearchSpace>& search_space,
    const embedding::Topology& available, const std::vector<PlanEntry>& old,
    double migration_weight, const embedding::BoundCertificate& certificate,
    const Budget& budget = {});

}  // namespace shardwright
