#include "search/embedding/best/best_mode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/load_factors.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/model/choice_model.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::BoundCertificate;
using embedding::BoundParameters;
using embedding::BoundProver;
using embedding::ChoiceModel;
using embedding::OptionPool;
using embedding::Topology;

// Work limit of a certificate's check: a fraction of a second.
constexpr std::uint64_t kAbsenceCheckSteps = std::uint64_t{1} << 27;
// The prover gets this multiple of the rating to prove, as a margin for rounding.
constexpr double kTargetFactor = 2;
// AggregateParameters::max_multiplier. A small shortage of memory needs large prices.
constexpr double kMaxMultiplier = 1e6;
// Steps between comparisons of the bound with the rating.
constexpr std::uint64_t kSlice = 10'000;

// A root with all ranks in one class and no prices. It is a proof if a table has no place.
BoundCertificate closed_root(const embedding::SearchSpace& space, const Topology& available) {
  BoundCertificate certificate;
  certificate.bound = std::numeric_limits<double>::infinity();
  certificate.class_of_rank.assign(available.world_size(), 0);
  certificate.nodes.emplace_back().multipliers.resize(1);
  certificate.load_factors = load_factors_of(space);
  return certificate;
}

// Proves that no plan rates below `rating`. Returns nothing if the prover fails.
std::optional<BoundCertificate> raise_above(double rating, const ChoiceModel& model,
                                            std::uint64_t work, Budget& budget,
                                            BoundParameters parameters) {
  parameters.aggregate.max_multiplier = kMaxMultiplier;
  parameters.targets.light_trees = 1;  // lower targets would be of no use
  BoundProver prover(model, parameters);
  const std::uint64_t end = budget.work_done() + work;
  while (prover.bound() < rating) {
    const std::uint64_t before = budget.work_done();
    if (prover.finished() || before >= end || budget.interrupted()) return std::nullopt;
    prover.run(std::min(kSlice, end - before), kTargetFactor * rating, budget);
    if (budget.work_done() == before) return std::nullopt;
  }
  BoundCertificate certificate = prover.certificate();
  certificate.bound = std::numeric_limits<double>::infinity();
  return certificate;
}

}  // namespace

std::optional<BoundCertificate> prove_absence(const OptionPool& pool, const Topology& available,
                                              std::uint64_t work, Budget& budget,
                                              const BoundParameters& parameters) {
  // A proof covers the options of the space only.
  if (pool.num_added() > 0 || budget.interrupted()) return std::nullopt;
  const std::optional<double> rating = embedding::unreachable_rating(pool.space());
  if (!rating) return std::nullopt;
  const auto is_proved = [&](const BoundCertificate& certificate) {
    return !embedding::check_absence(pool.space(), available, certificate, kAbsenceCheckSteps,
                                     [&] { return budget.interrupted().has_value(); });
  };
  BoundCertificate root = closed_root(pool.space(), available);
  if (is_proved(root)) return root;
  const ChoiceModel model(pool, available, budget);
  if (!model.status().ok()) return std::nullopt;
  std::optional<BoundCertificate> found = raise_above(*rating, model, work, budget, parameters);
  if (found && !is_proved(*found)) found.reset();
  return found;
}

namespace {

using embedding::BestParameters;
using embedding::BoundCertificate;
using embedding::ChoiceModel;
using embedding::Evaluation;
using embedding::OptionPool;
using embedding::Plan;
using embedding::PortfolioSearch;
using embedding::PortfolioSettings;
using embedding::Topology;

// Work limits of a certificate's check: two seconds, and a tenth of a second after a stop.
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

// Returns the answer if the budget was interrupted before the search could begin.
BestPlan stopped_before(const OptionPool& pool, const Topology& available, const BestStart& start,
                        const BoundCertificate* proved, const Budget& budget) {
  BestPlan best;
  best.reason = budget.interrupted().value_or(StopReason::kCancelled);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  if (best.plan && proved != nullptr) best.certificate = *proved;
  return best;
}

// Checks the certificate. Returns what is wrong with it, or nothing.
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

// Sets the certificate of `best`: the search's certificate if the check accepts it, or else
// `proved`, which was checked before. Reports a refusal if there is neither.
void keep_checked(const Budget& budget, const OptionPool& pool, const Topology& available,
                  const PortfolioSearch& search, const BoundCertificate* proved, BestPlan& best) {
  const BoundCertificate* const certificate = search.certificate();
  if (certificate != nullptr && (proved == nullptr || certificate->bound > proved->bound)) {
    std::optional<std::string> wrong = check_within(budget, pool, available, *certificate);
    if (!wrong) best.certificate = *certificate;
    best.refusal = std::move(wrong).value_or("");
  }
  if (best.certificate || proved == nullptr) return;
  best.certificate = *proved;
  best.refusal.clear();
}

std::vector<const Plan*> starts_of(const BestStart& start) {
  std::vector<const Plan*> plans;
  for (const Plan* const plan : {start.near, start.plan ? &*start.plan : nullptr}) {
    if (plan != nullptr) plans.push_back(plan);
  }
  return plans;
}

void take_counts(const PortfolioSearch& search, BestPlan& best) {
  best.steps = search.steps();
  best.copies += search.copies();
  best.span = search.span();
  best.none_exists = search.none_exists();
}

// Calls the caller's callbacks after a round.
// Thread safety: one thread at a time. Refers to the callbacks.
class IncumbentNews {
 public:
  explicit IncumbentNews(const BestStart& start)
      : start_(&start), bound_(start.proved != nullptr ? start.proved->bound : 0) {}

  void tell(const PortfolioSearch& at) {
    if (!at.best()) return;
    const bool is_better = at.best()->rating < rating_;
    const bool is_raised = at.bound() > bound_;
    rating_ = at.best()->rating;
    bound_ = at.bound();
    if (is_better && start_->on_better) start_->on_better(at.best()->plan);
    if (!start_->on_checkpoint || !(is_better || is_raised)) return;
    start_->on_checkpoint({at.best()->plan, bound_ > 0 ? at.certificate() : nullptr});
  }

 private:
  const BestStart* start_;
  double rating_ = std::numeric_limits<double>::infinity();
  double bound_ = 0;
};

}  // namespace

Result<BestPlan> find_best_plan(const OptionPool& pool, const Topology& available,
                                const PortfolioSettings& settings, const BestStart& start,
                                Executor& executor, Budget& budget,
                                const std::function<void(const PortfolioSearch&)>& observe) {
  // A proof covers the options of the space only.
  const bool prove = pool.num_added() == 0;
  const BoundCertificate* const proved = prove ? start.proved : nullptr;
  const ChoiceModel model(pool, available, budget);
  if (!model.status().ok()) {
    if (model.status().error().code != ErrorCode::kStopped) return model.status().error();
    return stopped_before(pool, available, start, proved, budget);
  }
  const BestParameters parameters = embedding::parameters_for(settings.lanes, settings.methods);
  PortfolioSearch search(model, settings.seed, prove, parameters, budget);
  search.set_to_beat(start.to_beat);
  if (proved != nullptr) search.set_proved(*proved);
  for (const Plan* const plan : starts_of(start))
    search.offer(*plan);
  BestPlan best;
  IncumbentNews news(start);
  best.reason = explore(search, executor, budget, [&](const PortfolioSearch& at) {
    news.tell(at);
    observe(at);
  });
  take_counts(search, best);
  if (search.best()) keep_if_better(pool, available, search.best()->plan, best);
  if (start.plan) keep_if_better(pool, available, *start.plan, best);
  if (best.plan && search.bound() > 0) keep_checked(budget, pool, available, search, proved, best);
  return best;
}

}  // namespace shardwright
