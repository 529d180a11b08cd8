// Functions that the answers of planning and replanning share.
#pragma once

#include <memory>
#include <string>

#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/surface/answer.h"

namespace shardwright::commands {

// Returns `options` with the stop token and the progress function of `watch`.
PlanOptions watched(PlanOptions options, const Watch& watch);

// Logs how much work the search did.
void log_work(const EmbeddingPlanResult& result, const Log& log);

// Makes the answer of a planning. The hint calls the problem `problem_name`. `old` is the plan from
// which a replan started, for the page; null otherwise.
Answer plan_answer(std::shared_ptr<const EmbeddingPlanResult> result, const PlanJsonOptions& json,
                   const std::string& problem_name,
                   std::shared_ptr<const PlanDocument> old = nullptr);

}  // namespace shardwright::commands
