#include "search/embedding/best/best_mode.h"

#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::BestSearch;
using embedding::ChoiceModel;
using embedding::Evaluation;
using embedding::OptionPool;
using embedding::Plan;
using embedding::Topology;

// Work limit of a certificate's check: a fraction of a second.
constexpr std::uint64_t kCheckSteps = std::uint64_t{1} << 27;

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
  best.none_exists = search.none_exists();
  if (search.best()) keep_if_better(pool, available, search.best()->plan, best);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  if (prove && best.plan && search.bound() > 0 &&
      !check_bound(pool.space(), available, *search.certificate(), kCheckSteps)) {
    best.certificate = *search.certificate();
  }
  return best;
}

}  // namespace shardwright
