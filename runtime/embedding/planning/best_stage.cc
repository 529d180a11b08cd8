#include "runtime/embedding/planning/best_stage.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/embedding/planning/absence_stage.h"
#include "runtime/embedding/planning/compat_stage.h"
#include "runtime/embedding/planning/failures.h"
#include "search/embedding/best/best_mode.h"

namespace shardwright {
namespace {

// Compat mode places this many shards in the time of one step of best mode.
constexpr std::uint64_t kShardsPerStep = 40;

// A proposal empties all ranks and looks for the slowest one, which takes as long per rank as
// placing this many shards.
constexpr std::uint64_t kShardsPerRank = 8;

// Half of the whole budget. A placed shard takes far less time than a step of best mode, so compat
// mode may place more shards than the same work limit would allow it alone.
Budget compat_budget(const PlanOptions& options) {
  std::optional<double> seconds = options.time_limit_s;
  if (seconds) *seconds /= 2;
  const std::uint64_t steps = work_limit_of(options).value_or(kDefaultBestWork) / 2;
  return Budget(kShardsPerStep * std::min(steps, ~std::uint64_t{0} / kShardsPerStep), seconds,
                options.stop);
}

void start_from_compat(Planning& planning, embedding::OptionPool& pool) {
  if (!check_compat_mode(*planning.problem).ok()) return;
  Budget part = compat_budget(planning.options);
  search_compat(planning, pool, part, kShardsPerRank * planning.available().world_size());
  planning.budget.spend(part.work_done() / kShardsPerStep);
}

void report_progress(const Planning& planning, const embedding::BestSearch& search) {
  if (!planning.options.on_progress) return;
  PlanProgress progress;
  progress.proposals = planning.result.num_proposals;
  progress.proposals_at_most = planning.result.num_proposals;
  progress.plans = planning.result.num_plans;
  if (search.best()) progress.best_rating = search.best()->rating;
  if (search.bound() > 0) progress.lower_bound = search.bound();
  progress.work_steps = planning.budget.work_done();
  progress.work_limit = work_limit_of(planning.options);
  progress.elapsed_s = planning.total.seconds();
  planning.options.on_progress(progress);
}

void take_plan(BestPlan best, EmbeddingPlanResult& result) {
  result.failure.reset();
  result.plan = std::move(best.plan);
  result.evaluation = std::move(best.evaluation);
  result.best_rating = result.evaluation.rating;
  if (!best.certificate) return;
  result.lower_bound = best.certificate->bound;
  result.certificate = std::move(best.certificate);
}

}  // namespace

void search_best(Planning& planning, embedding::OptionPool& pool) {
  start_from_compat(planning, pool);
  EmbeddingPlanResult& result = planning.result;
  const bool has_start = (result.plan && result.evaluation.valid()) || planning.options.start;
  if (!has_start && prove_absence_first(planning, pool)) return;
  const PlanOptions& options = planning.options;
  auto answer =
      find_best_plan(pool, planning.available(), options.seed,
                     {result.plan, options.start.get(), options.on_better_plan}, planning.executor,
                     planning.budget, [&](const auto& at) { report_progress(planning, at); });
  if (!answer.ok()) {
    result.failure = no_option_left(answer.error());
    take_absence(planning, pool, true);
    return;
  }
  BestPlan best = std::move(answer).value();
  result.stopped_by = best.reason;
  result.improvements = std::move(best.steps);
  result.work.plans += best.copies;
  if (best.plan) {
    take_plan(std::move(best), result);
  } else {
    take_absence(planning, pool, best.none_exists);
  }
}

}  // namespace shardwright
