// The public entry for planning a changed problem that has a plan in use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
  // Cost of moving one GiB, in units of the rating (ms; bytes for the storage model). If 0, the
  // best rating wins, and among plans of equal rating the plan that moves the fewest bytes.
  double migration_weight = 0;
  // The old plan's rating if best mode made it for this very problem (best_mode_rating() of
  // reuse.h). If rating and tables are unchanged, nothing moves.
  std::optional<double> best_mode_rating;
};

// Plans `problem` from `old`, the plan of an earlier problem. First drops removed tables from the
// old plan and places new tables, and tables whose option or ranks no longer exist. The result is
// called the "old plan kept"; the search starts from it.
//
// With a weight, the planner gets half of the work and time. The rest goes to a search that
// minimises rating + weight x GiB moved. This search begins with the old plan kept, all better
// plans that the planner found, and plans between them, so the answer costs no more than any of
// these. `migration` has this cost, a lower bound on the cost of every plan of the search space,
// and its certificate.
//
// Without a weight the best rating wins. Nothing moves if the old plan kept rates at most a
// relative kProvenGap worse, or if it is best mode's plan for the very same problem. Compat mode's
// planner ignores the old plan.
//
// The answer shares everything unchanged with the old plan kept; `work.plans` counts what was
// copied, and `migration` lists the moves. Errors: as plan_embedding(); kInvalidInput with the JSON
// pointer in the plan file if the old plan has a table twice or an invalid rank.
// Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> replan_embedding(
    std::shared_ptr<const embedding::Problem> problem, const std::vector<PlanEntry>& old,
    const ReplanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

// Searches for plans that move at most `most_bytes`, with `options.migration_weight` alone, from
// the plan of `planned` and from `starts`: answers of replan_embedding() for the same problem and
// the same old plan. Runs no planner; `options.plan` has the limits of the search. Precondition:
// `planned` has a plan.
Result<EmbeddingPlanResult> replan_again(const EmbeddingPlanResult& planned,
                                         const std::vector<PlanEntry>& old,
                                         std::span<const embedding::Plan> starts,
                                         const ReplanOptions& options, std::int64_t most_bytes);

// Returns the moves from `old` to `plan` (or to no plan) as replan_embedding() reports them.
// `available` is the topology after reservation and margin. Errors: as replan_embedding() for
// `old`.
Result<Migration> migration_from(std::shared_ptr<const embedding::Problem> problem,
                                 std::shared_ptr<const embedding::SearchSpace> search_space,
                                 const embedding::Topology& available,
                                 const std::vector<PlanEntry>& old,
                                 const std::optional<embedding::Plan>& plan,
                                 double migration_weight);

// Checks with core that for no plan of the space rating + weight x GiB moved from `old` is below
// the bound of the certificate. Returns what is wrong, or nullopt. The check ends with the budget.
// Errors: as migration_from().
Result<std::optional<std::string>> check_migration_bound(
    const std::shared_ptr<const embedding::SearchSpace>& search_space,
    const embedding::Topology& available, const std::vector<PlanEntry>& old,
    double migration_weight, const embedding::BoundCertificate& certificate,
    const Budget& budget = {});

}  // namespace shardwright
