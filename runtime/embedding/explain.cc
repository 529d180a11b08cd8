#include "runtime/embedding/explain.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/embedding/explain_reasons.h"
#include "runtime/embedding/fit_planner.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/questions/fit_oracle.h"
#include "search/embedding/questions/option_costs.h"
#include "search/embedding/questions/plan_of_entries.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {
namespace {

using embedding::ExcludedOptions;
using embedding::OptionCosts;
using embedding::Plan;
using embedding::SearchSpace;

// Keeps alive the options that an explanation points to.
struct Owner {
  std::shared_ptr<const SearchSpace> space;
  std::vector<std::shared_ptr<const SearchSpace>> excluded;
  std::shared_ptr<const void> plan;
};

// Returns the indices in `plan` of the tables to explain, in the order of the problem's tables.
std::vector<std::size_t> positions_of_tables(const embedding::Problem& problem, const Plan& plan,
                                             const std::optional<std::string>& name) {
  const auto& tables = problem.tables();
  std::vector<std::size_t> position(tables.size(), plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i)
    position[plan[i].option->table.index()] = i;
  std::vector<std::size_t> positions;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const bool asked = !name || tables[t].name == *name;
    if (asked && position[t] < plan.size()) positions.push_back(position[t]);
  }
  return positions;
}

}  // namespace

ExplainedTables explain_tables(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                               const std::optional<std::string>& table, Executor& executor,
                               const Budget& budget) {
  const Plan& plan = *result.plan;
  const SearchSpace& space = *result.search_space;
  const ExcludedOptions excluded =
      result.given_search_space ? ExcludedOptions(space) : ExcludedOptions(space, executor);
  const OptionCosts costs(space, result.reservation->topology, plan, result.evaluation, excluded);
  const std::vector<std::size_t> positions = positions_of_tables(problem, plan, table);
  ExplainedTables explained;
  explained.tables.resize(positions.size());
  executor.parallel_for(positions.size(), 4, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      TableExplanation& one = explained.tables[i];
      one.table = plan[positions[i]].option->table;
      one.options = costs.of_table(positions[i], budget);  // empty after a stop
    }
  });
  explained.tables_left_out =
      std::erase_if(explained.tables, [](const auto& one) { return one.options.empty(); });
  explained.owner =
      std::make_shared<const Owner>(Owner{result.search_space, excluded.owners(), plan.owner()});
  return explained;
}

namespace {

using embedding::Effort;
using embedding::find_infeasible_reason;
using embedding::find_remedies;
using embedding::Fit;
using embedding::FitOracle;
using embedding::InfeasibleReason;
using embedding::plan_of_entries;
using embedding::Problem;
using embedding::Remedies;
using embedding::SearchSpace;

// One call of explain_embedding().
// Thread safety: one thread at a time.
class Explainer {
 public:
  Explainer(std::shared_ptr<const Problem> problem, const ExplainOptions& options,
            std::shared_ptr<const SearchSpace> space)
      : options_(options), given_(std::move(space)), executor_(options.plan.threads) {
    explanation_.problem = std::move(problem);
  }

  Result<Explanation> run(const std::optional<std::vector<PlanEntry>>& entries) {
    const Stopwatch watch;
    SHARDWRIGHT_RETURN_IF_ERROR(check_table());
    if (entries) {
      SHARDWRIGHT_RETURN_IF_ERROR(take_plan(*entries));
    } else if (given_ != nullptr) {
      SHARDWRIGHT_RETURN_IF_ERROR(plan_given());
    } else {
      SHARDWRIGHT_RETURN_IF_ERROR(plan());
    }
    if (explanation_.result.plan) {
      const Budget budget({}, options_.plan.time_limit_s, options_.plan.stop);
      static_cast<ExplainedTables&>(explanation_) = explain_tables(
          *explanation_.problem, explanation_.result, options_.table, executor_, budget);
    }
    explanation_.total_s = watch.seconds();
    return std::move(explanation_);
  }

 private:
  Status check_table() const {
    if (!options_.table) return {};
    std::vector<std::string_view> names;
    for (const embedding::Table& table : explanation_.problem->tables()) {
      if (table.name == *options_.table) return {};
      names.push_back(table.name);
    }
    return invalid_input("table", "the problem has no table \"" + *options_.table + "\"" +
                                      suggestion(*options_.table, names));
  }

  // Best mode skips planning if no plan is proved to exist. Compat mode plans anyway: on ranks of
  // different memory its plan may exceed memory, and that plan is explained.
  Status plan() {
    FitOracle oracle = make_fit_oracle(options_.plan);
    const Fit present = oracle.ask(explanation_.problem->spec(), Effort::kProof);
    if (present.impossible()) SHARDWRIGHT_RETURN_IF_ERROR(check_input(present));
    if (!present.impossible() || options_.plan.mode == PlanMode::kCompat) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(
          explanation_.result,
          plan_embedding(explanation_.problem, options_.plan, present.search_space));
      ++explanation_.plannings;
    }
    EmbeddingPlanResult& result = explanation_.result;
    result.given_search_space = false;  // The fit oracle enumerated the space.
    result.mode = options_.plan.mode;
    result.threads = static_cast<int>(executor_.workers());
    // The stop may have ended the proof, and the deadline then the planning.
    if (!result.plan && present.answer == Fit::Answer::kStopped)
      result.stopped_by = StopReason::kCancelled;
    if (result.plan || result.stopped_by == StopReason::kCancelled) return {};
    if (present.impossible() || result.failure || result.stopped_by == StopReason::kTimeLimit) {
      explain_failure(present, result.failure.value_or(PlanFailure{}), oracle);
      explanation_.plannings += oracle.plannings();
      if (!result.search_space) result.search_space = present.search_space;
      if (!result.reservation) result.reservation = present.reservation;
    }
    return {};
  }

  Status plan_given() {
    SHARDWRIGHT_ASSIGN_OR_RETURN(explanation_.result,
                                 plan_embedding(explanation_.problem, options_.plan, given_));
    ++explanation_.plannings;
    const EmbeddingPlanResult& result = explanation_.result;
    if (result.plan || !result.failure) return {};
    explanation_.infeasibility.emplace().message =
        result.failure->message +
        "\nThe costs are those of a search space that was given for this machine; changes were not "
        "tried.";
    return {};
  }

  // Returns the error of an invalid problem (sizes out of range, a table without options). Returns
  // OK if the problem is valid and only lacks memory.
  Status check_input(const Fit& present) {
    if (!present.reservation) {
      const Result<embedding::Reservation> reservation = reserve_embedding(*explanation_.problem);
      const bool infeasible = reservation.error().code == ErrorCode::kInfeasible;
      return infeasible ? Status() : Status(reservation.error());
    }
    if (present.search_space) return {};
    return embedding::enumerate(explanation_.problem, executor_).error();
  }

  Status take_plan(const std::vector<PlanEntry>& entries) {
    EmbeddingPlanResult& result = explanation_.result;
    SHARDWRIGHT_ASSIGN_OR_RETURN(embedding::Reservation reservation,
                                 reserve_embedding(*explanation_.problem));
    result.reservation = std::move(reservation);
    result.given_search_space = given_ != nullptr;
    result.search_space = given_;
    if (given_ == nullptr) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(result.search_space,
                                   embedding::enumerate(explanation_.problem, executor_));
    }
    if (options_.plan.mode == PlanMode::kBest) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(result.search_space,
                                   embedding::with_load_factors(result.search_space, executor_));
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(result.plan, plan_of_entries(result.search_space, entries));
    result.evaluation =
        embedding::evaluate(*explanation_.problem, result.reservation->topology, *result.plan);
    result.best_rating = result.evaluation.rating;
    result.threads = static_cast<int>(executor_.workers());
    return {};
  }

  void explain_failure(const Fit& present, const PlanFailure& failure, FitOracle& oracle) {
    const Problem& problem = *explanation_.problem;
    const bool size_is_no_reason = failure.reason == FailureReason::kNothingProposed ||
                                   failure.reason == FailureReason::kRatingsTooLarge;
    InfeasibleReason reason;  // kind kSearch
    if (!present.reservation || present.shortage || !size_is_no_reason)
      reason =
          find_infeasible_reason(present, failure.reason == FailureReason::kPlacementRules, oracle);
    Remedies found = find_remedies(present, reason.proved, reason.tables, oracle);
    explanation_.infeasibility = Infeasibility{
        reason,
        infeasible_text(problem, reason, present.reservation ? failure.message : present.why),
        std::move(found.remedies), std::move(found.in_vain)};
  }

  const ExplainOptions& options_;
  std::shared_ptr<const SearchSpace> given_;  // null if options are enumerated
  PlanningExecutor executor_;
  Explanation explanation_;
};

}  // namespace

Result<Explanation> explain_embedding(std::shared_ptr<const Problem> problem,
                                      const std::optional<std::vector<PlanEntry>>& entries,
                                      const ExplainOptions& options,
                                      std::shared_ptr<const SearchSpace> space) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.plan.threads, options.plan.time_limit_s));
  return Explainer(std::move(problem), options, std::move(space)).run(entries);
}

}  // namespace shardwright
