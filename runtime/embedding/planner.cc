#include "runtime/embedding/planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/execution/tbb_executor.h"
#include "search/budget.h"
#include "search/embedding/best/best_mode.h"
#include "search/embedding/compat/diagnose.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/compat/enumerate.h"
#include "search/embedding/compat/reserve.h"
#include "search/explore.h"

namespace shardwright {
namespace {

using embedding::EmbeddingSearch;
using embedding::OptionPool;
using embedding::Problem;
using embedding::SearchSpace;

// Compat mode decides as TorchRec does, which knows neither placement rules nor the speed of a rank.
Status check_compat_mode(const Problem& problem) {
  const auto unsupported = [](const std::string& where, const std::string& what) {
    return Error{ErrorCode::kUnsupported,
                 "compat mode decides as TorchRec does and cannot honour " + what +
                     "; best mode does (`--mode best`)",
                 where};
  };
  if (problem.rules().any()) return unsupported(problem.rules().first_place(), "placement rules");
  if (problem.spec().calibration.rank_time.empty()) return {};
  return unsupported("/calibration/ranks/time", "measured times of ranks");
}

// Shards that compat mode places while best mode takes a step.
constexpr std::uint64_t kShardsPerStep = 40;

// Best mode never finishes by itself where it can prove nothing.
std::optional<std::uint64_t> work_limit(const PlanOptions& options) {
  if (options.work_limit || options.time_limit_s || options.mode == PlanMode::kCompat) {
    return options.work_limit;
  }
  return kDefaultBestWork;
}

ProposalTrace to_trace(const EmbeddingSearch& search, const OptionPool& pool) {
  ProposalTrace trace;
  trace.options = pool.all_options();
  trace.owner = pool.owner();
  trace.proposals = search.trace();
  return trace;
}

// The stages of one planning call, in order.
class EmbeddingPlanner {
 public:
  EmbeddingPlanner(std::shared_ptr<const Problem> problem, const PlanOptions& options,
                   std::shared_ptr<const SearchSpace> space)
      : problem_(std::move(problem)),
        options_(options),
        space_(std::move(space)),
        budget_(work_limit(options), options.time_limit_s, options.stop),
        executor_(options.threads) {
    result_.mode = options.mode;
  }

  Result<EmbeddingPlanResult> run() {
    SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options_.threads, options_.time_limit_s));
    if (options_.mode == PlanMode::kCompat) {
      SHARDWRIGHT_RETURN_IF_ERROR(check_compat_mode(*problem_));
    } else if (parts().rating_model) {
      return Error{ErrorCode::kUnsupported,
                   "best mode minimises what the problem's perf_model says; use compat mode with a "
                   "rating model of your own",
                   "parts.rating_model"};
    }
    Status reserved = reserve();
    if (!reserved.ok() && reserved.error().code != ErrorCode::kInfeasible) return reserved.error();
    if (reserved.ok()) {
      const Status found = enumerate_and_explore();
      if (!found.ok() && found.error().code != ErrorCode::kStopped) return found.error();
    }
    result_.threads = static_cast<int>(executor_.workers());
    result_.timing.total_s = total_.seconds();
    return std::move(result_);
  }

 private:
  Status enumerate_and_explore() {
    SHARDWRIGHT_RETURN_IF_ERROR(enumerate());
    return explore();
  }

  Status reserve() {
    const Stopwatch watch;
    Result<embedding::Reservation> reserved = embedding::reserve(*problem_);
    result_.timing.reserve_s = watch.seconds();
    if (!reserved.ok()) {
      result_.failure = PlanFailure{FailureType::kInsufficientStorage,
                                    FailureReason::kNegativeReservation, reserved.error().message};
      return reserved.error();
    }
    result_.reservation = *std::move(reserved);
    return {};
  }

  Status enumerate() {
    const Stopwatch watch;
    if (space_ == nullptr) {
      auto space = embedding::enumerate(problem_, executor_, budget_, parts().cost_model.get());
      if (!space.ok()) {
        if (const auto reason = budget_.interrupted()) result_.stopped_by = *reason;
        return space.error();
      }
      space_ = std::move(space).value();
    }
    result_.search_space = space_;
    result_.timing.enumerate_s = watch.seconds();
    return {};
  }

  Status explore() {
    const Stopwatch watch;
    OptionPool pool(space_, executor_);
    if (!pool.totals_fit()) {
      return invalid_input("/tables",
                           "the shards of all tables together would take more than 2^62 "
                           "bytes; check rows, pooling factors and the batch size");
    }
    if (space_->size() == 0) {
      keep(embedding::Plan(), 0);  // nothing to shard is a plan
    } else if (options_.mode == PlanMode::kCompat) {
      explore_compat(pool, budget_);
    } else {
      SHARDWRIGHT_RETURN_IF_ERROR(explore_best(pool));
    }
    result_.timing.explore_s = watch.seconds();
    result_.work.work_steps = budget_.work_done();
    result_.work.plans.options_added = pool.num_added();
    return {};
  }

  // TorchRec's search, within a budget.
  void explore_compat(OptionPool& pool, Budget& budget) {
    EmbeddingSearch search(pool, result_.reservation->topology, executor_.workers(), options_.trace,
                           parts());
    const StopReason reason = shardwright::explore(
        search, executor_, budget, [&](const EmbeddingSearch& at) { report_progress(at, budget); });
    result_.num_proposals = search.num_proposals();
    result_.num_plans = search.num_plans();
    result_.work.proposals_evaluated = search.num_proposals();
    result_.work.plans += search.copies();
    result_.stopped_by = reason;
    if (options_.trace) result_.trace = to_trace(search, pool);
    if (search.has_plan()) {
      keep(*search.best_plan(), search.best_rating());
    } else if (reason == StopReason::kFinished) {
      explain_failure(pool, search);
    } else if (reason == StopReason::kWorkLimit && search.lowest_failed_storage()) {
      explain_failure(pool, search);
      result_.failure->type = FailureType::kOther;
      result_.failure->reason = FailureReason::kStopped;
      result_.failure->message =
          "The work limit ended the search before anything fitted. So far: " +
          result_.failure->message;
    }
  }

  // Compat mode's plan within a part of the budget, unless it cannot be asked, and then better ones.
  Status explore_best(OptionPool& pool) {
    if (check_compat_mode(*problem_).ok()) {
      Budget part = start_budget();
      explore_compat(pool, part);
      budget_.spend(part.work_done() / kShardsPerStep);
    }
    auto best = find_best_plan(pool, result_.reservation->topology, options_.seed,
                               {result_.plan, options_.start.get(), options_.on_better_plan},
                               executor_, budget_, [this](const auto& at) { report_best(at); });
    if (!best.ok()) {
      result_.failure = PlanFailure{FailureType::kStrictConstraints, FailureReason::kPlacementRules,
                                    best.error().where + ": " + best.error().message};
      return {};
    }
    result_.stopped_by = best->reason;
    result_.improvements = std::move(best->steps);
    result_.work.plans += best->copies;
    if (!best->plan) {
      explain_nothing_found(best->none_exists);
      return {};
    }
    result_.failure.reset();
    result_.plan = std::move(best->plan);
    result_.evaluation = std::move(best->evaluation);
    result_.best_rating = result_.evaluation.rating;
    if (best->certificate) {
      result_.lower_bound = best->certificate->bound;
      result_.certificate = std::move(best->certificate);
    }
    return {};
  }

  // Those of the caller, or none.
  const embedding::SearchParts& parts() const {
    static const embedding::SearchParts kNone;
    return options_.parts == nullptr ? kNone : *options_.parts;
  }

  // Half of what there is. Placed shards take far less time than steps of best mode: that is more
  // of them than compat mode would have within the same limit.
  Budget start_budget() const {
    std::optional<double> seconds = options_.time_limit_s;
    if (seconds) *seconds /= 2;
    const std::uint64_t steps = work_limit(options_).value_or(kDefaultBestWork) / 2;
    return Budget(kShardsPerStep * std::min(steps, ~std::uint64_t{0} / kShardsPerStep), seconds,
                  options_.stop);
  }

  // Compat mode may have said why; a plan of its own that breaks a rule of memory is none here.
  void explain_nothing_found(bool none_exists) {
    result_.plan.reset();
    result_.best_rating.reset();
    result_.evaluation = {};
    if (result_.failure && result_.failure->reason != FailureReason::kStopped) {
      if (none_exists && result_.failure->reason != FailureReason::kTableFitsNowhere) {
        result_.failure->message +=
            " Best mode tried every option of every table on every rank: no plan fits.";
      }
      return;
    }
    if (none_exists) {
      result_.failure =
          PlanFailure{FailureType::kPartition, FailureReason::kNoPlanExists,
                      "No plan fits: every option of every table was tried on every rank that the "
                      "placement rules allow. More memory per rank, more ranks or fewer placement "
                      "rules may help."};
      return;
    }
    result_.failure =
        PlanFailure{FailureType::kOther, FailureReason::kNothingFound,
                    "No plan that fits was found, and none was shown to be impossible. More memory "
                    "per rank, fewer placement rules or a larger --work-limit may help."};
  }

  void report_progress(const EmbeddingSearch& search, const Budget& budget) const {
    if (!options_.on_progress) return;
    PlanProgress progress;
    progress.proposals = search.num_proposals();
    progress.proposals_at_most = search.proposals_at_most();
    progress.plans = search.num_plans();
    if (search.has_plan()) progress.best_rating = search.best_rating();
    progress.work_steps = budget.work_done();
    progress.elapsed_s = total_.seconds();
    options_.on_progress(progress);
  }

  void report_best(const embedding::BestSearch& search) const {
    if (!options_.on_progress) return;
    PlanProgress progress;
    progress.proposals = result_.num_proposals;
    progress.proposals_at_most = result_.num_proposals;
    progress.plans = result_.num_plans;
    if (search.best()) progress.best_rating = search.best()->rating;
    if (search.bound() > 0) progress.lower_bound = search.bound();
    progress.work_steps = budget_.work_done();
    progress.work_limit = work_limit(options_);
    progress.elapsed_s = total_.seconds();
    options_.on_progress(progress);
  }

  void keep(const embedding::Plan& plan, double rating) {
    result_.plan = plan;
    result_.best_rating = rating;
    result_.evaluation = embedding::evaluate(*problem_, result_.reservation->topology, plan);
  }

  void explain_failure(const OptionPool& pool, const EmbeddingSearch& search) {
    if (search.num_plans() > 0) {
      result_.failure = PlanFailure{
          FailureType::kInsufficientStorage, FailureReason::kRatingsTooLarge,
          "Proposals fit, but the time of every one exceeds 2^63 ms, which no plan may; check the "
          "bandwidths, the multipliers of the topology and the costs of the search space."};
      return;
    }
    if (!search.lowest_failed_storage()) {
      // The peer, too, calls a search that tried nothing a lack of storage.
      result_.failure =
          PlanFailure{FailureType::kInsufficientStorage, FailureReason::kNothingProposed,
                      "No proposer proposed anything: grid proposes nothing above max_proposals, "
                      "uniform nothing "
                      "where no sharding type is offered by every table. Add a greedy proposer."};
      return;
    }
    if (parts().partitioner) {
      result_.failure = PlanFailure{FailureType::kPartition, FailureReason::kNothingPlaced,
                                    "The program's own partitioner placed none of " +
                                        std::to_string(search.num_proposals()) + " proposals."};
      return;
    }
    result_.failure =
        embedding::diagnose(pool, result_.reservation->topology, search.lowest_failed_options(),
                            *search.lowest_failed_storage());
  }

  std::shared_ptr<const Problem> problem_;
  PlanOptions options_;
  std::shared_ptr<const SearchSpace> space_;
  Budget budget_;
  TbbExecutor executor_;
  EmbeddingPlanResult result_;
  Stopwatch total_;
};

}  // namespace

Result<EmbeddingPlanResult> plan_embedding(std::shared_ptr<const Problem> problem,
                                           const PlanOptions& options,
                                           std::shared_ptr<const SearchSpace> search_space) {
  const bool given = search_space != nullptr;
  Result<EmbeddingPlanResult> planned =
      EmbeddingPlanner(std::move(problem), options, std::move(search_space)).run();
  if (!planned.ok()) return planned;
  EmbeddingPlanResult result = std::move(planned).value();
  result.given_search_space = given;
  return result;
}

Result<std::shared_ptr<const SearchSpace>> enumerate_embedding(
    std::shared_ptr<const Problem> problem, const embedding::CostModel* cost_model) {
  TbbExecutor executor(0);
  return embedding::enumerate(std::move(problem), executor, {}, cost_model);
}

Result<embedding::Reservation> reserve_embedding(const Problem& problem) {
  return embedding::reserve(problem);
}

}  // namespace shardwright
