#include "search/operators/aten/sieved_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {
namespace {

// More than any search does.
constexpr std::uint64_t kAllWork = std::uint64_t{1} << 62;

// One search.
// Thread safety: one thread at a time.
class SievedSearch {
 public:
  SievedSearch(const AtenModel& model, ChoiceSieve& sieve, Executor& executor, Budget& budget,
               const ProblemSolveOptions& options, const SieveParameters& parameters)
      : model_(model),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters),
        sieve_(sieve),
        part_(parameters.first_part) {}

  Result<SievedSolution> run(SieveGoal goal) {
    SHARDWRIGHT_RETURN_IF_ERROR(look_near());
    for (int round = 0; round < parameters_.most_rounds && !is_closed() && !is_over(); ++round) {
      if (has_choice() && goal == SieveGoal::kAnyPlan) return finished();
      if (has_choice()) {
        sieve_.messages().exclude_above(best_.objective);
        const KeptChoices kept = sieve_.at_most(best_.objective);
        if (sieve_.per_variable(kept) <= parameters_.most_choices) {
          SHARDWRIGHT_RETURN_IF_ERROR(prove(kept, proof_work_));
          if (is_proved()) return finished();
          proof_work_ *= parameters_.work_growth;
        }
      }
      sieve_.messages().hurry(parameters_.more_hurried, parameters_.haste);
      sieve_.messages().sweep(parameters_.more_sweeps);
      SHARDWRIGHT_RETURN_IF_ERROR(look_near());
    }
    if (is_closed() || is_over()) return finished();
    const KeptChoices kept = has_choice() ? sieve_.at_most(best_.objective) : all_choices(model_);
    if (!has_choice() || num_entries(model_, kept) <= parameters_.most_last_entries)
      SHARDWRIGHT_RETURN_IF_ERROR(prove(kept, kAllWork));
    return finished();
  }

 private:
  // Solves the problem of the choices nearest to the bound, for a good plan early.
  Status look_near() {
    offer(sieve_.messages().decode());
    if (is_closed()) return {};
    // What is solved to its end has better plans than more choices that are not.
    for (double choices = parameters_.first_choices;; choices /= 2) {
      SHARDWRIGHT_RETURN_IF_ERROR(
          solve_kept(sieve_.near(part_, choices), kForbidden, parameters_.work_of_look));
      if (last_status_ != SolveStatus::kFeasible || choices <= parameters_.fewest_choices) break;
    }
    part_ *= parameters_.part_growth;
    return {};
  }

  void offer(std::vector<std::uint32_t> choice) {
    const double cost = cost_of(model_, choice);
    if (!(cost < kForbidden) || (has_choice() && cost >= best_.objective)) return;
    best_.objective = cost;
    best_.choice = std::move(choice);
  }

  // The bound of all plans has met the best one.
  bool is_closed() const {
    constexpr double kRounding = 1e-10;
    return has_choice() && bound() >= best_.objective * (1 - kRounding);
  }

  bool has_choice() const { return !best_.choice.empty(); }
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  // `kept` has all choices that a better plan could take.
  Status prove(const KeptChoices& kept, std::uint64_t work) {
    return solve_kept(kept, has_choice() ? best_.objective : kForbidden, work);
  }

  // Takes the best plan of the kept choices that costs less than the cutoff, if that much work
  // finds it.
  Status solve_kept(const KeptChoices& kept, double cutoff, std::uint64_t work) {
    left_out_ = sieve_.least_left_out(kept);
    last_status_ = SolveStatus::kInfeasible;
    if (std::any_of(kept.begin(), kept.end(), [](const auto& own) { return own.empty(); }))
      return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(model_, kept, std::nullopt));
    Budget budget = budget_.with_work_left(work);
    SolveOptions options;
    options.seed = options_.seed;
    options.cutoff = cutoff;
    const SolveResult solved =
        solve(problem.lowered.instance(), executor_, budget, options, options_.parameters);
    budget_.spend(budget.work_done() - budget_.work_done());
    last_status_ = solved.status;
    best_.stopped_by = solved.stopped_by;
    best_.kept = 0;
    for (const auto& own : kept)
      best_.kept += own.size();
    if (!solved.choice.empty()) offer(chosen(kept, problem.lowered.operator_choice(solved.choice)));
    solved_bound_ = std::max(solved_bound_, std::min({solved.lower_bound, cutoff, left_out_}));
    if (options_.on_progress && has_choice())
      options_.on_progress({best_.choice, best_.objective, std::min(bound(), best_.objective)});
    return {};
  }

  // No plan costs less.
  double bound() const { return std::max(solved_bound_, sieve_.messages().bound()); }

  // No plan is better: the problem of the kept choices was solved, and what was left out costs no
  // less.
  bool is_proved() const {
    if (is_closed()) return true;
    const double least = has_choice() ? best_.objective : kForbidden;
    return (last_status_ == SolveStatus::kOptimal || last_status_ == SolveStatus::kInfeasible) &&
           least <= left_out_;
  }

  SievedSolution finished() {
    best_.lower_bound = bound();
    if (has_choice()) {
      best_.status = is_proved() ? SolveStatus::kOptimal : SolveStatus::kFeasible;
      best_.lower_bound =
          is_proved() ? best_.objective : std::min(best_.lower_bound, best_.objective);
    } else {
      best_.status = is_proved() ? SolveStatus::kInfeasible : SolveStatus::kUnknown;
    }
    if (is_proved()) {
      best_.stopped_by = StopReason::kFinished;
    } else if (const auto reason = budget_.interrupted()) {
      best_.stopped_by = *reason;
    } else if (!budget_.work_left()) {
      best_.stopped_by = StopReason::kWorkLimit;
    }
    return std::move(best_);
  }

  const AtenModel& model_;
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  const SieveParameters& parameters_;
  ChoiceSieve& sieve_;
  std::uint64_t proof_work_ = parameters_.work_of_proof;  // of the next one
  double part_;  // of the bound; how near choices were at the last look
  double solved_bound_ = 0;
  double left_out_ = kForbidden;  // the least bound of choices that the last problem did not have
  SolveStatus last_status_ = SolveStatus::kUnknown;
  SievedSolution best_;
};

}  // namespace

Result<SievedSolution> sieved_search(const AtenModel& model, ChoiceSieve& sieve, Executor& executor,
                                     Budget& budget, const ProblemSolveOptions& options,
                                     SieveGoal goal, const SieveParameters& parameters) {
  return SievedSearch(model, sieve, executor, budget, options, parameters).run(goal);
}

}  // namespace shardwright::operators
