// Best mode's part of planning: from exact mode's plan, or none, to the best plan and its bound.
#pragma once

#include <functional>
#include <optional>

#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/best_search.h"
#include "search/embedding/option_pool.h"
#include "search/executor.h"

namespace shardwright {

struct BestPlan {
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;  // of the plan, by the verifier
  // Absent where no bound was proved, or options were added that its proof does not cover.
  std::optional<embedding::BoundCertificate> certificate;
  std::vector<embedding::ImprovementStep> steps;
  StopReason reason = StopReason::kFinished;
};

// `start`, where given, is a plan that the answer must not be worse than. A certificate that the
// check of core does not accept is not handed on. Errors: kInfeasible where placement rules leave a
// table without an option.
Result<BestPlan> find_best_plan(const embedding::OptionPool& pool,
                                const embedding::Topology& available, std::uint64_t seed,
                                const std::optional<embedding::Plan>& start, Executor& executor,
                                Budget& budget,
                                const std::function<void(const embedding::BestSearch&)>& observe);

}  // namespace shardwright
