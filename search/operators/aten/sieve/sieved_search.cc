#include "search/operators/aten/sieve/sieved_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/aten_problem.h"
#include "search/operators/aten/sieve/placement_messages.h"

namespace shardwright::operators {
namespace {

// One search.
// Thread safety: one thread at a time.
class SievedSearch {
 public:
  SievedSearch(const AtenModel& model, Executor& executor, Budget& budget,
               const ProblemSolveOptions& options, const SieveParameters& parameters)
      : model_(model),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters),
        messages_(model) {}

  Result<SievedSolution> run() {
    messages_.sweep(parameters_.first_sweeps);
    double part = parameters_.first_part;
    KeptChoices kept = near(part);
    while (per_variable(kept) > parameters_.first_choices && part > kLeastPart)
      kept = near(part /= 2);
    for (int round = 0;; ++round) {
      SHARDWRIGHT_RETURN_IF_ERROR(solve_kept(kept));
      if (is_proved() || is_over() || round == parameters_.most_rounds) return finished();
      messages_.sweep(parameters_.more_sweeps);
      const bool is_last = round + 1 == parameters_.most_rounds;
      part *= parameters_.part_growth;
      if (has_choice()) {
        kept = keep(best_.objective);
        if (per_variable(kept) > parameters_.most_choices && !is_last) kept = near(part);
      } else {
        kept = is_last ? all_choices() : near(part);
      }
    }
  }

 private:
  static constexpr double kLeastPart = 1e-9;

  bool has_choice() const { return !best_.choice.empty(); }
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  // The choices whose bound is at most `most`, the same for all variables of a leader. Sets the least
  // bound of those that are left out.
  KeptChoices keep(double most) {
    KeptChoices kept(model_.leaders.size());
    left_out_ = kForbidden;
    for (std::uint32_t v = 0; v < kept.size(); ++v) {
      if (model_.leaders[v] != v) {
        kept[v] = kept[model_.leaders[v]];
        continue;
      }
      for (std::uint32_t choice = 0; choice < model_.costs[v].size(); ++choice) {
        const double bound = messages_.bound_with(v, choice);
        if (bound <= most) {
          kept[v].push_back(choice);
        } else {
          left_out_ = std::min(left_out_, bound);
        }
      }
    }
    return kept;
  }
  KeptChoices near(double part) {
    return keep(messages_.bound() + part * std::max(1.0, messages_.bound()));
  }
  KeptChoices all_choices() {
    left_out_ = kForbidden;
    return operators::all_choices(model_);
  }

  double per_variable(const KeptChoices& kept) const {
    std::size_t sum = 0;
    std::size_t variables = 0;
    for (std::uint32_t v = 0; v < kept.size(); ++v) {
      if (model_.leaders[v] != v) continue;
      sum += kept[v].size();
      ++variables;
    }
    return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(variables, 1));
  }

  // Takes the solution of the kept choices if it is the best one so far.
  Status solve_kept(const KeptChoices& kept) {
    last_status_ = SolveStatus::kInfeasible;
    if (std::any_of(kept.begin(), kept.end(), [](const auto& own) { return own.empty(); }))
      return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem,
                                 lower(model_, kept, std::nullopt));
    const ProblemSolution solved = solve_problem(problem, executor_, budget_, options_);
    last_status_ = solved.status;
    best_.stopped_by = solved.stopped_by;
    best_.kept = 0;
    for (const auto& own : kept)
      best_.kept += own.size();
    if (solved.choice.empty() || (has_choice() && solved.objective >= best_.objective)) return {};
    best_.objective = solved.objective;
    best_.choice.clear();
    for (std::size_t v = 0; v < kept.size(); ++v)
      best_.choice.push_back(kept[v][solved.choice[v]]);
    return {};
  }

  // The problem of the kept choices was solved, and what was left out costs no less.
  bool is_proved() const {
    if (last_status_ == SolveStatus::kInfeasible) return !has_choice() && left_out_ == kForbidden;
    return last_status_ == SolveStatus::kOptimal && best_.objective <= left_out_;
  }

  SievedSolution finished() {
    best_.lower_bound = std::max(0.0, messages_.bound());
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
  PlacementMessages messages_;
  double left_out_ = kForbidden;  // the least bound of choices that the last sieve left out
  SolveStatus last_status_ = SolveStatus::kUnknown;
  SievedSolution best_;
};

}  // namespace

Result<SievedSolution> sieved_search(const AtenModel& model, Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options,
                                     const SieveParameters& parameters) {
  return SievedSearch(model, executor, budget, options, parameters).run();
}

}  // namespace shardwright::operators
