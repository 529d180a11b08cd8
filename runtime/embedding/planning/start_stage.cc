#include "runtime/embedding/planning/start_stage.h"

#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluation/evaluate.h"

namespace shardwright {
namespace {

constexpr double kCheckAfterStopS = 0.1;

// Processor time of this thread: a busy machine must not decide what is checked.
double thread_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns what is wrong with the certificate, or nothing.
std::optional<std::string> check(const Planning& planning,
                                 const embedding::BoundCertificate& certificate) {
  std::optional<double> stopped_at;
  const auto is_stopped = [&] {
    if (!stopped_at && planning.budget.interrupted()) stopped_at = thread_seconds();
    return stopped_at && thread_seconds() > *stopped_at + kCheckAfterStopS;
  };
  return embedding::check_bound(*planning.space, planning.available(), certificate,
                                embedding::kAnySteps, is_stopped);
}

void take_proof(Planning& planning, EmbeddingPlanResult& start) {
  const auto proved = std::exchange(planning.options.proved, nullptr);
  if (proved == nullptr || proved->excludes_all_plans()) return;
  const std::optional<std::string> wrong = check(planning, *proved);
  if (!wrong) {
    start.lower_bound = proved->bound;
    start.certificate = *proved;
    planning.options.proved = proved;
  } else if (*wrong == embedding::kProofTooLong && planning.budget.interrupted()) {
    start.certificate = *proved;
    start.bound_refusal =
        "the search was stopped before the certificate that it goes on from was checked; the "
        "answer keeps that certificate";
  }
}

}  // namespace

std::optional<EmbeddingPlanResult> take_start(Planning& planning) {
  const PlanOptions& options = planning.options;
  if (options.mode != PlanMode::kBest || options.start == nullptr) return std::nullopt;
  EmbeddingPlanResult start = planning.result;
  start.plan = *options.start;
  start.evaluation = embedding::evaluate(*planning.problem, planning.available(), *start.plan);
  start.best_rating = start.evaluation.rating;
  start.stopped_by = StopReason::kCancelled;
  take_proof(planning, start);
  if (!start.evaluation.valid()) return std::nullopt;
  if (!options.on_checkpoint) return start;
  start.threads = static_cast<int>(planning.executor.workers());
  start.timing.total_s = planning.total.seconds();
  options.on_checkpoint(start);
  return start;
}

// A bound that was checked is the search's, too, unless its plan is of another space.
void keep_start(EmbeddingPlanResult start, EmbeddingPlanResult& result) {
  const bool has_plan = result.plan && result.evaluation.valid();
  const bool takes_plan = !has_plan || *start.best_rating < *result.best_rating;
  if (takes_plan) {
    result.failure.reset();
    result.plan = std::move(start.plan);
    result.evaluation = std::move(start.evaluation);
    result.best_rating = start.best_rating;
    result.improvements.clear();
  }
  if (!result.certificate && start.certificate && (takes_plan || !start.lower_bound)) {
    result.lower_bound = start.lower_bound;
    result.certificate = std::move(start.certificate);
    result.bound_refusal = std::move(start.bound_refusal);
  }
}

}  // namespace shardwright
