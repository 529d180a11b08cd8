// The public entry for reusing a plan: answers a planning request with a plan from a file.
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
  std::optional<EmbeddingPlanResult> result;  // as a planner answers, with `reused` set
  std::string why_not;                        // a sentence; empty if there is a result
};

// Answers with the plan of `document` if it was made for a problem of the same identity
// (identity.h) in the same mode and everything that the document claims is true, its bound
// included. Compat mode also requires the same search settings and a search that ran to its end, so
// that the plan is what compat mode would decide; best mode's limits and seed do not matter. A
// matching hash is never trusted: everything is recomputed, within the budget. Errors: as
// verify_plan(). Cost: enumeration and verification.
Result<Reuse> reuse_plan(std::shared_ptr<const embedding::Problem> problem,
                         const PlanDocument& document, PlanMode mode,
                         std::shared_ptr<const embedding::SearchSpace> search_space = nullptr,
                         const Budget& budget = {});

// The rating that the document claims, if best mode made its plan for this very problem, by hash.
std::optional<double> best_mode_rating(const embedding::Problem& problem,
                                       const embedding::SearchSpace* given,
                                       const PlanDocument& document);

}  // namespace shardwright
