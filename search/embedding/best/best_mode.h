// Best mode's part of planning: from exact mode's plan, or none, to the best plan and its bound.
#pragma once

#include <functional>
#include <optional>

#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/best/best_search.h"
#include "search/embedding/model/option_pool.h"
#include "search/executor.h"

namespace shardwright {

// Where a search begins; each part may be absent.
struct BestStart {
  const std::optional<embedding::Plan>& plan;  // that the answer must not be worse than
  const embedding::Plan* near = nullptr;       // to stay close to where ratings tie
  const std::function<void(const embedding::Plan&)>& on_better;  // called with every better plan
};

struct BestPlan {
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;  // of the plan, by the verifier
  // Absent where no bound was proved, or options were added that its proof does not cover.
  std::optional<embedding::BoundCertificate> certificate;
  std::vector<embedding::ImprovementStep> steps;
  bool none_exists = false;  // every choice and place was tried, and no plan is valid
  StopReason reason = StopReason::kFinished;
};

// A certificate that the
// check of core does not accept is not handed on. Errors: kInfeasible where placement rules leave a
// table without an option.
Result<BestPlan> find_best_plan(const embedding::OptionPool& pool,
                                const embedding::Topology& available, std::uint64_t seed,
                                const BestStart& start, Executor& executor, Budget& budget,
                                const std::function<void(const embedding::BestSearch&)>& observe);

}  // namespace shardwright
