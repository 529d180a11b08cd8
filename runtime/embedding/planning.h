// The state that the stages of one planning call share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/embedding/plan_failure.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/stopwatch.h"
#include "search/budget.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {

// Returns the caller's work limit. Best mode without any limit gets a default, since it would
// otherwise end only after a proof of optimality.
std::optional<std::uint64_t> work_limit_of(const PlanOptions& options);

// One planning call: the request, the executor and budget, and the result that the stages fill.
// Thread safety: one thread at a time.
struct Planning {
  // `given` is the caller's search space, or null.
  Planning(std::shared_ptr<const embedding::Problem> asked, const PlanOptions& how,
           std::shared_ptr<const embedding::SearchSpace> given);

  // The caller's custom parts; empty if there are none.
  const embedding::SearchParts& parts() const;
  // The topology after the reservation. Precondition: memory was reserved.
  const embedding::Topology& available() const { return result.reservation->topology; }
  // Makes `plan` the answer and evaluates it with the verifier.
  void keep(const embedding::Plan& plan, double rating);

  std::shared_ptr<const embedding::Problem> problem;
  PlanOptions options;
  std::shared_ptr<const embedding::SearchSpace> space;  // null until enumerated or given
  // Constructed before the budget, so that after a deadline it shows at least the time limit.
  Stopwatch total;
  Budget budget;
  PlanningExecutor executor;
  EmbeddingPlanResult result;
};

// The failure of a problem whose reservation takes more than a rank has.
PlanFailure negative_reservation(const Error& error);

// The failure of a problem whose placement rules leave a table without an option.
PlanFailure no_option_left(const Error& error);

// The failure of compat mode if no proposal was kept as a plan.
PlanFailure nothing_kept(const Planning& planning, const embedding::OptionPool& pool,
                         const embedding::EmbeddingSearch& search);

// The failure of compat mode if the work limit ended it. `so_far` is the result of nothing_kept()
// for the proposals tried until then.
PlanFailure stopped_by_work_limit(PlanFailure so_far);

// The failure of best mode. `compat` is the failure of compat mode, if any, and is returned unless
// compat mode was stopped, or its failure says that no plan exists and `proof` is absent.
PlanFailure nothing_found(const Planning& planning, std::optional<PlanFailure> compat,
                          std::optional<AbsenceProof> proof);

}  // namespace shardwright
