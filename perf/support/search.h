// Runs the compat search on the calling thread, stage by stage, for measurements that must repeat
// exactly. Outside micro/, only this file of perf/ includes internal headers of the search.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/model/option_pool.h"
#include "search/executor.h"
#include "search/explore.h"

namespace shardwright::perf {

inline std::shared_ptr<const embedding::SearchSpace> enumerate_inline(const Workload& workload) {
  InlineExecutor executor;
  return require(embedding::enumerate(workload.problem, executor));
}

// Explores with a new option pool, as the planner does with one thread. Calls observe(search) after
// every batch of proposals.
template <class Observe = NoObserver>
EmbeddingPlanResult explore_inline(const Workload& workload,
                                   std::shared_ptr<const embedding::SearchSpace> space,
                                   std::optional<std::uint64_t> work_limit,
                                   const Observe& observe = {}) {
  EmbeddingPlanResult result;
  const embedding::Reservation reserved = require(embedding::reserve(*workload.problem));
  result.reservation = reserved;
  result.search_space = space;
  InlineExecutor executor;
  Budget budget(work_limit, {});
  embedding::OptionPool pool(std::move(space));
  embedding::EmbeddingSearch search(pool, reserved.topology, executor.workers(), false);
  explore(search, executor, budget, observe);
  result.num_proposals = search.num_proposals();
  result.num_plans = search.num_plans();
  result.work.work_steps = budget.work_done();
  result.plan = search.best_plan();
  if (result.plan) result.best_rating = search.best_rating();
  return result;
}

}  // namespace shardwright::perf
