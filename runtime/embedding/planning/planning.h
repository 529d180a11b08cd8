// What the stages of one planning call share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/result/plan_result.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/stopwatch.h"
#include "search/budget.h"
#include "search/embedding/compat/search_parts.h"

namespace shardwright {

// The work limit that applies: the caller's, or the default if best mode has no limit. Best mode
// ends without one only if it proves its plan optimal.
std::optional<std::uint64_t> work_limit_of(const PlanOptions& options);

// The state of one planning call: the request, what it runs on, and the result that the stages
// fill.
// Thread safety: one thread at a time.
struct Planning {
  // `given` is the caller's search space, or null.
  Planning(std::shared_ptr<const embedding::Problem> asked, const PlanOptions& how,
           std::shared_ptr<const embedding::SearchSpace> given);

  // The caller's parts; empty if there are none.
  const embedding::SearchParts& parts() const;
  // What the reservation leaves. Precondition: memory was reserved.
  const embedding::Topology& available() const { return result.reservation->topology; }
  // Makes `plan` the answer and has the verifier evaluate it.
  void keep(const embedding::Plan& plan, double rating);

  std::shared_ptr<const embedding::Problem> problem;
  PlanOptions options;
  std::shared_ptr<const embedding::SearchSpace> space;  // null until enumerated or given
  // Starts before the budget, so that a search that a deadline ended took at least as long.
  Stopwatch total;
  Budget budget;
  PlanningExecutor executor;
  EmbeddingPlanResult result;
};

}  // namespace shardwright
