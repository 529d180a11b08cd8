#include "runtime/embedding/explain/fit_oracle.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "search/embedding/compat/enumerate.h"

namespace shardwright {

using embedding::Problem;
using embedding::ProblemSpec;
using embedding::SearchSpace;

namespace {

// Best mode finds most plans that it finds within a small part of its work.
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

// Reasons of the planner that hold whatever it searched.
bool is_proof(const PlanFailure& failure) {
  return failure.reason == "placement_rules" || failure.reason == "negative_reservation";
}

// Best mode ends without a limit only where it is sure.
bool tried_everything(const EmbeddingPlanResult& result) {
  return result.mode == PlanMode::kBest && result.stopped_by.empty();
}

}  // namespace

Fit FitOracle::ask(ProblemSpec spec, Effort effort, std::shared_ptr<const SearchSpace> space) {
  Fit fit;
  const auto impossible = [&](const Error& error) {
    fit.answer = Fit::Answer::kImpossible;
    fit.why = error.to_string();
    return std::move(fit);
  };
  Result<Problem> made = Problem::make(std::move(spec));
  if (!made.ok()) return impossible(made.error());
  fit.problem = std::make_shared<const Problem>(std::move(made).value());
  Result<Reservation> reservation = reserve_embedding(*fit.problem);
  if (!reservation.ok()) return impossible(reservation.error());
  fit.reservation = std::move(reservation).value();
  if (!space) {
    InlineExecutor executor;
    auto enumerated = embedding::enumerate(fit.problem, executor);
    if (!enumerated.ok()) return impossible(enumerated.error());
    space = std::move(enumerated).value();
  }
  fit.search_space = std::move(space);
  fit.misfit = embedding::prove_misfit(*fit.search_space, fit.reservation->topology);
  if (fit.misfit) {
    fit.answer = Fit::Answer::kImpossible;
  } else if (effort != Effort::kProof) {
    plan(effort, fit);
  }
  return fit;
}

// Exact mode's best plan may exceed memory where ranks differ, so the first says nothing of it.
bool FitOracle::proposals_may_be_wrong(const Problem& problem) const {
  return problem.spec().partitioner.type == embedding::PartitionerSpec::Type::kMemoryBalanced;
}

void FitOracle::plan(Effort effort, Fit& fit) {
  PlanOptions options = options_;
  if (effort != Effort::kFull && !quick_is_full())
    options.work_limit = options.work_limit.value_or(kDefaultBestWork) / share_of_work(effort);
  ++plannings_;
  auto result = plan_first(fit, options, !proposals_may_be_wrong(*fit.problem));
  if (!result.ok()) {
    fit.answer = Fit::Answer::kImpossible;
    fit.why = result.error().to_string();
    return;
  }
  if (result->plan && result->evaluation.valid()) {
    fit.answer = Fit::Answer::kFits;
    fit.rating = *result->best_rating;
    fit.plan = std::move(result->plan);
  } else if (result->failure && (is_proof(*result->failure) || tried_everything(*result))) {
    fit.answer = Fit::Answer::kImpossible;
    fit.why = result->failure->message;
  } else if (stopped() || result->stopped_by == "time_limit") {
    fit.answer = Fit::Answer::kStopped;
  }
}

// Best mode begins with exact mode's plan, which counts where `trust_exact`; exact mode is no more
// than that.
Result<EmbeddingPlanResult> FitOracle::plan_first(const Fit& fit, PlanOptions options,
                                                  bool trust_exact) {
  std::stop_source first;
  const std::stop_callback forward(options.stop, [&] { first.request_stop(); });
  options.stop = first.get_token();
  options.on_better_plan = nullptr;
  options.on_progress = [&](const PlanProgress& progress) {
    const bool of_best_mode = progress.work_limit.has_value();
    if (progress.best_rating && (of_best_mode || trust_exact)) first.request_stop();
  };
  return plan_embedding(fit.problem, options, fit.search_space);
}

}  // namespace shardwright
