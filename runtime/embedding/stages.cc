#include "runtime/embedding/stages.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/problem/table.h"
#include "runtime/embedding/planning.h"
#include "search/embedding/best/best_mode.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/compat/plan_validation.h"
#include "search/embedding/compat/scaleup_proposer.h"
#include "search/embedding/model/choice_model.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::FoundPlan;

// The search for a certificate gets 1/20 of the work limit.
constexpr std::uint64_t kShareOfWork = 20;

// Most steps of the search over all plans before best mode; about 0.1 s.
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 22;
// As many steps of this search take the time of one step of best mode.
constexpr std::uint64_t kStepsPerStep = 16;

// Replaces the plan, which may be compat mode's and exceed memory, by a failure.
void take_failure(std::optional<AbsenceProof> proof, Planning& planning) {
  EmbeddingPlanResult& result = planning.result;
  result.plan.reset();
  result.best_rating.reset();
  result.evaluation = {};
  result.failure = nothing_found(planning, std::move(result.failure), proof);
}

// Sets the failure if a rule leaves a table without an option and no failure was set before.
void name_rule(const embedding::OptionPool& pool, Planning& planning) {
  if (planning.result.failure) return;
  const embedding::ChoiceModel model(pool, planning.available(), planning.budget);
  if (!model.status().ok() && !planning.budget.interrupted())
    planning.result.failure = no_option_left(model.status().error());
}

// A proof covers only the declared options, not those that a proposer added.
bool is_provable(const embedding::OptionPool& pool) { return pool.num_added() == 0; }

// Tries all plans within the limit. Returns true if none exists. Sets `start` if a plan is found.
bool try_all(Planning& planning, const embedding::OptionPool& pool, std::uint64_t most_steps,
             std::optional<embedding::Plan>& start) {
  if (!is_provable(pool) || planning.budget.interrupted()) return false;
  FoundPlan tried = embedding::find_any_plan(
      *planning.space, planning.available(), std::min(most_steps, kMostSteps),
      [&] { return planning.budget.interrupted().has_value(); });
  planning.budget.spend(tried.steps / kStepsPerStep);
  if (tried.answer == FoundPlan::Answer::kFound) start = std::move(tried.plan);
  if (tried.answer != FoundPlan::Answer::kNoneExists) return false;
  name_rule(pool, planning);
  take_failure(AbsenceProof::kSearch, planning);
  return true;
}

}  // namespace

bool prove_absence_first(Planning& planning, const embedding::OptionPool& pool,
                         std::optional<embedding::Plan>& start) {
  const std::uint64_t work =
      work_limit_of(planning.options).value_or(kDefaultBestWork) / kShareOfWork;
  EmbeddingPlanResult& result = planning.result;
  result.certificate = prove_absence(pool, planning.available(), work, planning.budget);
  if (result.certificate) {
    name_rule(pool, planning);
    take_failure(AbsenceProof::kCertificate, planning);
    return true;
  }
  return try_all(planning, pool, kStepsPerStep * work, start);
}

void take_absence(Planning& planning, const embedding::OptionPool& pool, bool none_exists) {
  std::optional<AbsenceProof> proof;
  if (none_exists && is_provable(pool)) proof = AbsenceProof::kSearch;
  take_failure(proof, planning);
}

namespace {

constexpr double kCheckAfterStopS = 0.1;

// Processor time of this thread, so that other load on the machine does not decide what is checked.
double thread_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns what is wrong with the certificate, or nullopt.
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

// If the search has no certificate, takes that of `start`. A checked certificate is taken only
// together with the plan of `start`: a search that started with it lacks one only if its plan has
// options outside the certificate's space.
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
  return Error{
      ErrorCode::kUnsupported,
      "compat mode decides as TorchRec does and cannot honour " + what + "; best mode does", where};
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
  bool is_complete = true;
  do {
    Budget part = work_per_proposer ? budget.with_work_left(*work_per_proposer) : budget;
    reason = explore(search, planning.executor, part,
                     [&](const EmbeddingSearch& at) { report_progress(planning, at, part); });
    budget.spend(part.work_done() - budget.work_done());
    goes_on = work_per_proposer && reason == StopReason::kWorkLimit && budget.work_left();
    if (goes_on && search.has_plan()) {
      is_complete = false;
      goes_on = search.skip_to_next_proposer();
    }
  } while (goes_on);
  planning.result.stopped_by = reason;
  take_statistics(search, pool, planning.options.trace, planning.result);
  if (search.has_plan() && planning.options.mode == PlanMode::kCompat)
    planning.result.failure = embedding::validate_plan(*planning.problem, *search.best_plan());
  if (planning.result.failure) return;
  if (search.has_plan()) {
    planning.keep(*search.best_plan(), search.best_rating());
    planning.result.compat_rating = search.best_rating();
    planning.result.compat_is_complete = is_complete && reason == StopReason::kFinished;
  } else if (reason == StopReason::kFinished) {
    planning.result.failure = nothing_kept(planning, pool, search);
  } else if (reason == StopReason::kWorkLimit && search.lowest_failed_storage()) {
    planning.result.failure = stopped_by_work_limit(nothing_kept(planning, pool, search));
  }
}

namespace {

// The work of a compat-mode proposal in steps of best mode: two for every shard whose rank is
// chosen, and one per four ranks, for emptying the ranks and finding the slowest.
embedding::ProposalWork work_of_proposals(const embedding::Topology& available) {
  return {0, 2, available.world_size() / 4};
}

// Compat mode gets 1/2 of the work. Once there is a plan, each proposer gets 1/16 of the work: best
// mode's own search soon finds what the proposer would find later.
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

// Runs compat mode among the declared options; its proposers may add caches of other sizes. Leaves
// the plan as the answer. Returns it as a plan of the planning's space; nullopt if there is none,
// or if the space lacks one of its options.
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
  planning.result.failure.reset();  // The failure concerns only the declared options.
  if (!planning.result.plan) return std::nullopt;
  return embedding::on_load_factors(planning.space, *planning.result.plan);
}

void report_progress(const Planning& planning, const embedding::PortfolioSearch& search) {
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

// Calls on_checkpoint with the plan and bound so far, as the answer of a search stopped here.
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

// Returns true if compat mode's plan is better, thanks to cache sizes that best mode does not
// choose from. It then stays the answer, without a bound.
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
