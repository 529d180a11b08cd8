#include "runtime/embedding/fit_planner.h"

#include <cstdint>
#include <stop_token>
#include <utility>

#include "runtime/embedding/planner.h"

namespace shardwright {
namespace {

using embedding::Effort;
using embedding::Fit;
using embedding::FitOracle;

// The work limit is divided by this number. If best mode finds a plan at all, it mostly finds one
// in a small part of its work.
std::uint64_t share_of_work(Effort effort) {
  switch (effort) {
    case Effort::kBrief:
      return 100;
    case Effort::kQuick:
      return 10;
    case Effort::kProof:
    case Effort::kFull:
      break;
  }
  return 1;
}

// Returns true for reasons that hold independently of what the planner searched.
bool is_proof(const PlanFailure& failure) {
  return failure.reason == FailureReason::kPlacementRules ||
         failure.reason == FailureReason::kNegativeReservation;
}

// Best mode without a limit stops only after it has tried everything.
bool tried_everything(const EmbeddingPlanResult& result) {
  return result.mode == PlanMode::kBest && result.stopped_by == StopReason::kFinished;
}

// If ranks differ, the memory-balanced partitioner may exceed memory, so its plan proves nothing.
bool proposals_may_be_wrong(const embedding::Problem& problem) {
  return problem.spec().partitioner.type == embedding::PartitionerSpec::Type::kMemoryBalanced;
}

// Plans until there is a first plan. Best mode begins with compat mode's plan; `trust_compat` says
// whether this plan ends the planning.
Result<EmbeddingPlanResult> plan_first(const Fit& fit, PlanOptions options, bool trust_compat) {
  std::stop_source first;
  const std::stop_callback forward(options.stop, [&] { first.request_stop(); });
  options.stop = first.get_token();
  options.on_better_plan = nullptr;
  options.on_progress = [&](const PlanProgress& progress) {
    const bool of_best_mode = progress.work_limit.has_value();
    if (progress.best_rating && (of_best_mode || trust_compat)) first.request_stop();
  };
  return plan_embedding(fit.problem, options, fit.search_space);
}

void plan(PlanOptions options, Effort effort, Fit& fit) {
  if (effort != Effort::kFull && options.mode != PlanMode::kCompat)
    options.work_limit = options.work_limit.value_or(kDefaultBestWork) / share_of_work(effort);
  auto result = plan_first(fit, options, !proposals_may_be_wrong(*fit.problem));
  if (!result.ok()) {
    fit.answer = Fit::Answer::kImpossible;
    fit.why = result.error().to_string();
    return;
  }
  if (result->plan && result->evaluation.valid()) {
    fit.answer = Fit::Answer::kFits;
    fit.rating = *result->best_rating;
    fit.plan = std::move(result).value().plan;
  } else if (result->failure && (is_proof(*result->failure) || tried_everything(*result))) {
    fit.answer = Fit::Answer::kImpossible;
    fit.why = result->failure->message;
  } else if (options.stop.stop_requested() || result->stopped_by == StopReason::kTimeLimit) {
    fit.answer = Fit::Answer::kStopped;
  }
}

}  // namespace

FitOracle make_fit_oracle(const PlanOptions& options) {
  return FitOracle([options](Effort effort, Fit& fit) { plan(options, effort, fit); },
                   options.mode == PlanMode::kCompat, options.stop);
}

}  // namespace shardwright
