#include "search/embedding/best/best_mode.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/processes/messages.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::Allocation;
using embedding::BestParameters;
using embedding::BestSearch;
using embedding::BestSettings;
using embedding::BoundCertificate;
using embedding::ChoiceModel;
using embedding::Evaluation;
using embedding::Opening;
using embedding::OptionPool;
using embedding::Plan;
using embedding::Topology;

// Work limits of a certificate's check: two seconds, and a tenth of one after a stop.
constexpr std::uint64_t kCheckSteps = std::uint64_t{1} << 29;
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
                        const BoundCertificate* proved, const Budget& budget) {
  BestPlan best;
  best.reason = budget.interrupted().value_or(StopReason::kCancelled);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  if (best.plan && proved != nullptr) best.certificate = *proved;
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

// The best certificate if the check accepts it. A stop may leave too little time for that; then
// the short one may do, or that of the bound `proved`, which was checked before. One that is wrong
// is reported.
void keep_checked(const Budget& budget, const OptionPool& pool, const Topology& available,
                  const BestSearch& search, const BoundCertificate* proved, BestPlan& best) {
  for (const BoundCertificate* const own : {search.certificate(), search.short_certificate()}) {
    if (own == nullptr || (proved != nullptr && own->bound <= proved->bound)) continue;
    std::optional<std::string> wrong = check_within(budget, pool, available, *own);
    if (!wrong) best.certificate = *own;
    best.refusal = std::move(wrong).value_or("");
    if (best.refusal != embedding::kProofTooLong) break;
  }
  if (best.certificate || proved == nullptr) return;
  best.certificate = *proved;
  best.refusal.clear();
}

// The plans that a search starts from.
std::vector<const Plan*> starts_of(const BestStart& start) {
  std::vector<const Plan*> plans;
  for (const Plan* const plan : {start.near, start.plan ? &*start.plan : nullptr}) {
    if (plan != nullptr) plans.push_back(plan);
  }
  return plans;
}

Opening own_opening(const ChoiceModel& model, const BestSettings& settings, bool prove,
                    const BestStart& start, double bound, const Budget& budget) {
  Opening opening{
      fingerprint_of(model, settings, budget.work_limit()), budget.work_done(), prove, bound, {}};
  for (const Plan* const plan : starts_of(start)) {
    if (auto allocation = to_allocation(model, *plan))
      opening.starts.push_back(*std::move(allocation));
  }
  return opening;
}

void take_counts(const BestSearch& search, BestPlan& best) {
  best.steps = search.steps();
  best.copies += search.copies();
  best.span = search.span();
  best.own_work = search.own_work();
  best.process_span = search.process_span();
  best.none_exists = search.none_exists();
}

// Tells the caller what is new after a round.
// Thread safety: one thread at a time. Refers to the callbacks.
class BestNews {
 public:
  BestNews(const BestStart& start, std::uint64_t checkpoint_work)
      : start_(&start),
        bound_(start.proved != nullptr ? start.proved->bound : 0),
        checkpoint_work_(checkpoint_work) {}

  // `work`: done so far.
  void tell(const BestSearch& at, std::uint64_t work) {
    if (!at.best()) return;
    const bool is_better = !rating_ || at.best()->rating < *rating_;
    const bool is_raised = at.bound() > bound_;
    rating_ = at.best()->rating;
    bound_ = at.bound();
    if (is_better && start_->on_better) start_->on_better(at.best()->plan);
    if (!start_->on_checkpoint) return;
    const bool is_due = work >= kept_at_ + checkpoint_work_;
    if (!is_better && !is_raised && !is_due) return;
    kept_at_ = work;
    start_->on_checkpoint(
        {at.best()->plan, bound_ > 0 ? at.certificate() : nullptr, at.open_proof()});
  }

 private:
  const BestStart* start_;
  std::optional<double> rating_;
  double bound_ = 0;
  std::uint64_t checkpoint_work_;
  std::uint64_t kept_at_ = 0;  // work at the last checkpoint
};

// What process 0 says. Nothing if the group has ended. Precondition: this process is not alone.
// Errors: kInvalidInput if the processes do not search the same.
Result<std::optional<Opening>> open_together(const ChoiceModel& model, const Opening& own,
                                             SearchGroup& group) {
  const auto messages = group.all_gather(to_message(own));
  if (!messages) return std::optional<Opening>();
  std::optional<Opening> first;
  for (std::size_t process = 0; process < messages->size(); ++process) {
    std::optional<Opening> opening = opening_of(model, (*messages)[process]);
    if (!opening || opening->fingerprint != own.fingerprint)
      return group.searches_otherwise(process);
    if (process == 0) first = std::move(opening);
  }
  return first;
}

// Goes on from what was proved before, and from the tree that another search left.
Status go_on(const BestStart& start, const BoundCertificate* proved, const Budget& budget,
             BestSearch& search) {
  if (proved != nullptr) search.set_proved(*proved);
  if (start.open_proof == nullptr || budget.interrupted()) return {};
  const Status fits = search.set_open_proof(*start.open_proof);
  return fits.ok() ? Status() : invalid_input("/open_proof", fits.error().message);
}

}  // namespace

Result<BestPlan> find_best_plan(const OptionPool& pool, const Topology& available,
                                const BestSettings& settings, const BestStart& start,
                                SearchGroup& group, Executor& executor, Budget& budget,
                                const std::function<void(const BestSearch&)>& observe) {
  // A proof covers the options of the space only.
  bool prove = pool.num_added() == 0;
  const bool helps = group.process() != 0;
  const BoundCertificate* const proved = prove && !helps ? start.proved : nullptr;
  const ChoiceModel model(pool, available, budget);
  if (!model.status().ok()) {
    if (model.status().error().code != ErrorCode::kStopped) return model.status().error();
    return stopped_before(pool, available, start, proved, budget);
  }
  std::optional<Opening> opening;
  if (!group.is_alone()) {
    const double bound = proved != nullptr ? proved->bound : 0;
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        opening,
        open_together(model, own_opening(model, settings, prove, start, bound, budget), group));
  }
  if (helps && !opening) return stopped_before(pool, available, start, proved, budget);
  BestPlan best;
  if (helps) {
    prove = opening->prove;
    budget.set_work_done(opening->work_done);
  }
  const BestParameters parameters = embedding::parameters_for(settings.lanes, settings.methods);
  BestSearch search(model, settings.seed, prove, parameters, budget, &group);
  search.set_to_beat(start.to_beat);
  SHARDWRIGHT_RETURN_IF_ERROR(go_on(start, proved, budget, search));
  if (helps) {
    search.set_proved(opening->bound);
    for (const Allocation& allocation : opening->starts)
      search.offer(to_plan(model, allocation, best.copies));
  } else {
    for (const Plan* const plan : starts_of(start))
      search.offer(*plan);
  }
  BestNews news(start, parameters.lanes.checkpoint_work);
  best.reason = explore(search, executor, budget, [&](const BestSearch& at) {
    news.tell(at, budget.work_done());
    observe(at);
  });
  group.leave();
  if (search.stopped_by()) best.reason = *search.stopped_by();
  if (start.on_checkpoint) best.open_proof = search.open_proof();
  take_counts(search, best);
  if (search.best()) keep_if_better(pool, available, search.best()->plan, best);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  if (best.plan && search.bound() > 0) keep_checked(budget, pool, available, search, proved, best);
  return best;
}

}  // namespace shardwright
