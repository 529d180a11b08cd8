#include "search/embedding/best/best_mode.h"

#include <optional>
#include <string>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::BestSearch;
using embedding::BoundCertificate;
using embedding::ChoiceModel;
using embedding::Evaluation;
using embedding::OptionPool;
using embedding::Plan;
using embedding::Topology;

// Work limits of a certificate's check: a fraction of a second, and a tenth of one after a stop.
constexpr std::uint64_t kCheckSteps = std::uint64_t{1} << 27;
constexpr std::uint64_t kCheckStepsAfterStop = std::uint64_t{1} << 25;

void keep_if_better(const OptionPool& pool, const Topology& available, const Plan& plan,
                    BestPlan& best) {
  Evaluation evaluation = embedding::evaluate(pool.problem(), available, plan);
  if (!evaluation.valid()) return;
  if (best.plan && best.evaluation.rating <= evaluation.rating) return;
  best.plan = plan;
  best.evaluation = std::move(evaluation);
}

// The answer if the budget was interrupted before the search could begin.
BestPlan stopped_before(const OptionPool& pool, const Topology& available, const BestStart& start,
                        const Budget& budget) {
  BestPlan best;
  best.reason = budget.interrupted().value_or(StopReason::kCancelled);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  return best;
}

// Returns what is wrong with the certificate, or nothing.
std::optional<std::string> check_within(const Budget& budget, const OptionPool& pool,
                                        const Topology& available,
                                        const BoundCertificate& certificate) {
  const auto is_stopped = [&] { return budget.interrupted().has_value(); };
  if (!is_stopped()) {
    auto wrong = check_bound(pool.space(), available, certificate, kCheckSteps, is_stopped);
    if (!wrong || !is_stopped()) return wrong;
  }
  return check_bound(pool.space(), available, certificate, kCheckStepsAfterStop);
}

}  // namespace

Result<BestPlan> find_best_plan(const OptionPool& pool, const Topology& available,
                                std::uint64_t seed, const BestStart& start, Executor& executor,
                                Budget& budget,
                                const std::function<void(const BestSearch&)>& observe) {
  const ChoiceModel model(pool, available, budget);
  if (!model.status().ok()) {
    if (model.status().error().code != ErrorCode::kStopped) return model.status().error();
    return stopped_before(pool, available, start, budget);
  }
  // A proof covers the options of the space only.
  const bool prove = pool.num_added() == 0;
  BestSearch search(model, seed, prove, {}, budget);
  search.set_to_beat(start.to_beat);
  for (const Plan* const plan : {start.near, start.plan ? &*start.plan : nullptr}) {
    if (plan != nullptr) search.offer(*plan);
  }
  BestPlan best;
  std::optional<double> last;
  best.reason = explore(search, executor, budget, [&](const BestSearch& at) {
    if (start.on_better && at.best() && (!last || at.best()->rating < *last)) {
      last = at.best()->rating;
      start.on_better(at.best()->plan);
    }
    observe(at);
  });
  best.steps = search.steps();
  best.copies = search.copies();
  best.span = search.span();
  best.none_exists = search.none_exists();
  if (search.best()) keep_if_better(pool, available, search.best()->plan, best);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  if (prove && best.plan && search.bound() > 0) {
    std::optional<std::string> wrong = check_within(budget, pool, available, *search.certificate());
    if (wrong) {
      best.refusal = *std::move(wrong);
    } else {
      best.certificate = *search.certificate();
    }
  }
  return best;
}

}  // namespace shardwright
