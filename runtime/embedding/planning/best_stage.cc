#include "runtime/embedding/planning/best_stage.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/embedding/planning/absence_stage.h"
#include "runtime/embedding/planning/compat_stage.h"
#include "runtime/embedding/planning/failures.h"
#include "search/embedding/best/best_mode.h"
#include "search/embedding/compat/cache_scaling/load_factor_options.h"

namespace shardwright {
namespace {

// What a proposal of compat mode takes in steps of best mode: two for every shard whose rank is
// chosen, and one per four ranks, which it empties and among which it looks for the slowest.
embedding::ProposalWork work_of_proposals(const embedding::Topology& available) {
  return {0, 2, available.world_size() / 4};
}

// Compat mode's part of the whole work, and that of a proposer once there is a plan: what it finds
// later, best mode's own search soon finds, too.
constexpr std::uint64_t kParts = 2;
constexpr std::uint64_t kPartsOfProposer = 16;

void search_within_part(Planning& planning, embedding::OptionPool& pool) {
  const PlanOptions& options = planning.options;
  const std::uint64_t work = work_limit_of(options).value_or(kDefaultBestWork);
  std::optional<double> seconds = options.time_limit_s;
  if (seconds) *seconds /= kParts;
  Budget part(work / kParts, seconds, options.stop);
  search_compat(planning, pool, part, work_of_proposals(planning.available()),
                std::max<std::uint64_t>(1, work / kPartsOfProposer));
  planning.budget.spend(part.work_done());
}

// Leaves compat mode's plan as the answer and returns it as a plan of the pool's space, if it can
// be one. Compat mode chooses among the declared options, to which it adds caches of its own.
std::optional<embedding::Plan> start_from_compat(Planning& planning, embedding::OptionPool& pool) {
  if (!planning.options.methods.plans.compat_start) return std::nullopt;
  if (!check_compat_mode(*planning.problem).ok()) return std::nullopt;
  if (planning.space->base() == nullptr) {
    search_within_part(planning, pool);
    return planning.result.plan;
  }
  embedding::OptionPool declared(planning.space->base(), planning.executor, planning.budget);
  if (planning.budget.interrupted()) return std::nullopt;
  search_within_part(planning, declared);
  planning.result.failure.reset();  // what it says holds for the declared options alone
  if (!planning.result.plan) return std::nullopt;
  return embedding::on_load_factors(planning.space, *planning.result.plan);
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
  progress.time_limit_s = planning.options.time_limit_s;
  progress.is_best_search = true;
  progress.rating_is_bytes = planning.problem->spec().perf_model == embedding::PerfModel::kStorage;
  planning.options.on_progress(progress);
}

// Hands on what was found so far, as an answer that is stopped here.
void keep_checkpoint(const Planning& planning, const BestCheckpoint& checkpoint) {
  EmbeddingPlanResult at = planning.result;
  at.failure.reset();
  at.plan = checkpoint.plan;
  at.evaluation = embedding::evaluate(*planning.problem, planning.available(), checkpoint.plan);
  at.best_rating = at.evaluation.rating;
  at.stopped_by = StopReason::kCancelled;
  at.threads = static_cast<int>(planning.executor.workers());
  at.work.work_steps = planning.budget.work_done();
  at.timing.total_s = planning.total.seconds();
  if (checkpoint.certificate != nullptr) {
    at.lower_bound = checkpoint.certificate->bound;
    at.certificate = *checkpoint.certificate;
  }
  planning.options.on_checkpoint(at);
}

void take_plan(BestPlan best, EmbeddingPlanResult& result) {
  result.failure.reset();
  result.plan = std::move(best.plan);
  result.evaluation = std::move(best.evaluation);
  result.best_rating = result.evaluation.rating;
  result.bound_refusal = std::move(best.refusal);
  if (!best.certificate) return;
  result.lower_bound = best.certificate->bound;
  result.certificate = std::move(best.certificate);
}

// Compat mode's plan stays the answer if its caches, of sizes that best mode does not choose from,
// make it better. No bound is claimed then.
bool is_worse_than(const BestPlan& best, const EmbeddingPlanResult& compat) {
  if (!compat.plan || !compat.evaluation.valid()) return false;
  return !best.plan || compat.evaluation.rating < best.evaluation.rating;
}

}  // namespace

Status search_best(Planning& planning, embedding::OptionPool& pool) {
  std::optional<embedding::Plan> start = start_from_compat(planning, pool);
  EmbeddingPlanResult& result = planning.result;
  const bool has_start = (result.plan && result.evaluation.valid()) || planning.options.start;
  if (!has_start && prove_absence_first(planning, pool, start)) return {};
  const PlanOptions& options = planning.options;
  BestStart from{start, options.start.get(), options.on_better_plan};
  from.to_beat = options.to_beat;
  from.proved = options.proved.get();
  if (options.on_checkpoint) {
    from.on_checkpoint = [&](const BestCheckpoint& at) { keep_checkpoint(planning, at); };
  }
  auto answer = find_best_plan(
      pool, planning.available(), {options.seed, options.lanes, options.methods}, from,
      planning.executor, planning.budget, [&](const auto& at) { report_progress(planning, at); });
  if (!answer.ok()) {
    if (answer.error().code != ErrorCode::kInfeasible) return answer.error();
    result.failure = no_option_left(answer.error());
    take_absence(planning, pool, true);
    return {};
  }
  BestPlan best = std::move(answer).value();
  result.stopped_by = best.reason;
  result.work.plans += best.copies;
  result.work.span_steps = best.span;
  if (is_worse_than(best, result)) return {};
  result.improvements = std::move(best.steps);
  if (best.plan) {
    take_plan(std::move(best), result);
  } else {
    take_absence(planning, pool, best.none_exists);
  }
  return {};
}

}  // namespace shardwright
