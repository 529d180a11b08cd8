// The public entry for reuse: answers a planning request with the plan of a file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/planner.h"
#include "search/budget.h"

namespace shardwright {

struct Reuse {
  std::optional<EmbeddingPlanResult> result;  // as of the planner, with `reused` set
  std::string why_not;                        // a sentence; empty if `result` is set
};

// Answers with the plan of `document` if three conditions hold: the document was made in the same
// mode, its problem has the same hash (identity.h), and everything that it claims is true, its
// bound included. Compat mode also requires the same search settings and a search that ran to its
// end, so that the plan is what compat mode would decide. Limits and seed of best mode do not
// matter. A hash alone is never trusted: everything is recomputed, within the budget. Errors: as
// verify_plan(). Cost: enumeration and verification.
Result<Reuse> reuse_plan(std::shared_ptr<const embedding::Problem> problem,
                         const PlanDocument& document, PlanMode mode,
                         std::shared_ptr<const embedding::SearchSpace> search_space = nullptr,
                         const Budget& budget = {});

// Returns the rating that the document claims if its plan is best mode's for this very problem, by
// hash; otherwise nullopt.
std::optional<double> best_mode_rating(const embedding::Problem& problem,
                                       const embedding::SearchSpace* given,
                                       const PlanDocument& document);

}  // namespace shardwright
