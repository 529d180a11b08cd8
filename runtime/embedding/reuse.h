// Answers a planning request with a plan that was made before.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/embedding/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

struct Reuse {
  std::optional<EmbeddingPlanResult> result;  // as a planner would answer, `reused` set
  std::string why_not;                        // a sentence; empty where there is a result
};

// Takes the plan of `document` as the answer for `problem` where it may stand for one: it was made
// for a problem of the same identity (identity.h) in the same mode, and nothing that it claims is
// found wrong, its bound included. In exact mode the search settings must be the same, too, and
// the search must have run to its end, so that the plan is what exact mode would decide; best
// mode's limits and seed do not matter. The hash is a reason to look, never a reason to trust:
// everything is recomputed. Errors: as verify_plan.
// Cost: enumeration and verification.
Result<Reuse> reuse_plan(std::shared_ptr<const embedding::Problem> problem,
                         const PlanDocument& document, PlanMode mode,
                         std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
