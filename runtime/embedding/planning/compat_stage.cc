#include "runtime/embedding/planning/compat_stage.h"

#include <string>

#include "core/embedding/problem/placement_spec.h"
#include "runtime/embedding/planning/failures.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/compat/proposers/embedding_offload_scaleup_proposer.h"
#include "search/embedding/compat/validation/plan_validation.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::EmbeddingSearch;
using embedding::OptionPool;

void report_progress(const Planning& planning, const EmbeddingSearch& search,
                     const Budget& budget) {
  if (!planning.options.on_progress) return;
  PlanProgress progress;
  progress.proposals = search.num_proposals();
  progress.proposals_at_most = search.proposals_at_most();
  progress.plans = search.num_plans();
  if (search.has_plan()) progress.best_rating = search.best_rating();
  progress.work_steps = budget.work_done();
  progress.elapsed_s = planning.total.seconds();
  progress.time_limit_s = planning.options.time_limit_s;
  progress.rating_is_bytes = planning.problem->spec().perf_model == embedding::PerfModel::kStorage;
  planning.options.on_progress(progress);
}

void take_statistics(const EmbeddingSearch& search, const OptionPool& pool, bool with_trace,
                     EmbeddingPlanResult& result) {
  result.num_proposals = search.num_proposals();
  result.num_plans = search.num_plans();
  result.work.proposals_evaluated = search.num_proposals();
  result.work.plans += search.copies();
  if (with_trace) result.trace = ProposalTrace{pool.all_options(), search.trace(), pool.owner()};
}

Error unsupported(const std::string& where, const std::string& what) {
  return Error{ErrorCode::kUnsupported,
               "compat mode decides as TorchRec does and cannot honour " + what +
                   "; best mode does",
               where};
}

}  // namespace

Status check_listed_load_factors(const embedding::Problem& problem) {
  for (const embedding::Table& table : problem.tables()) {
    const auto& constraints = table.constraints;
    if (!constraints || !constraints->cache_params || !constraints->cache_params->load_factors)
      continue;
    return unsupported(embedding::constraints_place(table.name) + "/cache_params/load_factors",
                       "a list of load factors");
  }
  return {};
}

Status check_compat_mode(const embedding::Problem& problem) {
  if (problem.rules().any()) return unsupported(problem.rules().first_place(), "placement rules");
  if (problem.spec().calibration.rank_time.empty()) return {};
  return unsupported("/calibration/ranks/time", "measured times of ranks");
}

Status check_proposers(const embedding::SearchSpace& space) {
  using Scaleup = embedding::EmbeddingOffloadScaleupProposer;
  for (const embedding::ProposerSpec& proposer : space.problem().spec().proposers) {
    if (proposer.type == embedding::ProposerSpec::Type::kScaleup)
      SHARDWRIGHT_RETURN_IF_ERROR(Scaleup::check_caches(space));
  }
  return {};
}

void search_compat(Planning& planning, OptionPool& pool, Budget& budget,
                   const embedding::ProposalWork& work,
                   std::optional<std::uint64_t> work_per_proposer) {
  EmbeddingSearch search(pool, planning.available(), planning.executor.workers(),
                         planning.options.trace, planning.parts(), work);
  StopReason reason;
  bool goes_on = true;
  do {
    Budget part = work_per_proposer ? budget.with_work_left(*work_per_proposer) : budget;
    reason = explore(search, planning.executor, part,
                     [&](const EmbeddingSearch& at) { report_progress(planning, at, part); });
    budget.spend(part.work_done() - budget.work_done());
    goes_on = work_per_proposer && reason == StopReason::kWorkLimit && budget.work_left();
    if (goes_on && search.has_plan()) goes_on = search.skip_to_next_proposer();
  } while (goes_on);
  planning.result.stopped_by = reason;
  take_statistics(search, pool, planning.options.trace, planning.result);
  if (search.has_plan() && planning.options.mode == PlanMode::kCompat)
    planning.result.failure = embedding::validate_plan(*planning.problem, *search.best_plan());
  if (planning.result.failure) return;
  if (search.has_plan()) {
    planning.keep(*search.best_plan(), search.best_rating());
  } else if (reason == StopReason::kFinished) {
    planning.result.failure = nothing_kept(planning, pool, search);
  } else if (reason == StopReason::kWorkLimit && search.lowest_failed_storage()) {
    planning.result.failure = stopped_by_work_limit(nothing_kept(planning, pool, search));
  }
}

}  // namespace shardwright
