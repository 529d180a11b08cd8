// What planning and replanning share.
#pragma once

#include <memory>
#include <string>

#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/surface/answer.h"

namespace shardwright::commands {

// Returns the options with the stop token and the progress function of the watch.
PlanOptions watched(PlanOptions options, const Watch& watch);

// Logs the work of the search.
void log_work(const EmbeddingPlanResult& result, const Log& log);

// `problem_name`: what the hint calls the problem. `old`: the plan that a replan began with, for
// the page.
Answer plan_answer(std::shared_ptr<const EmbeddingPlanResult> result, const PlanJsonOptions& json,
                   const std::string& problem_name,
                   std::shared_ptr<const PlanDocument> old = nullptr);

}  // namespace shardwright::commands
