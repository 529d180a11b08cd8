#include "search/operators/aten/pruned_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/aten_variables.h"

namespace shardwright::operators {
namespace {

constexpr double kLeastPart = 1e-9;

bool is_identity(const std::vector<std::uint32_t>& leaders) {
  for (std::uint32_t v = 0; v < leaders.size(); ++v) {
    if (leaders[v] != v) return false;
  }
  return true;
}

}  // namespace

ChoicePruning::ChoicePruning(const AtenModel& model, std::vector<std::uint32_t> leaders,
                             TrwsRelaxation messages)
    : model_(&model), leaders_(std::move(leaders)), messages_(std::move(messages)) {}

ChoicePruning::ChoicePruning(const AtenModel& model, const PruningParameters& parameters)
    : ChoicePruning(model, model.leaders, first_messages(model, parameters)) {}

TrwsRelaxation ChoicePruning::first_messages(const AtenModel& model,
                                             const PruningParameters& parameters) {
  const std::vector<std::uint32_t> blocks = block_leaders(model.variables);
  if (blocks == model.leaders || is_identity(blocks)) {
    TrwsRelaxation messages(model, model.leaders);
    messages.sweep(parameters.first_sweeps);
    return messages;
  }
  ChoicePruning pruning = of_blocks(model, parameters).spread();
  pruning.messages_.hurry(parameters.hurried, parameters.haste);
  pruning.messages_.sweep(parameters.sweeps_from_blocks);
  return std::move(pruning.messages_);
}

ChoicePruning ChoicePruning::of_blocks(const AtenModel& model,
                                       const PruningParameters& parameters) {
  std::vector<std::uint32_t> leaders = block_leaders(model.variables);
  if (is_identity(leaders)) leaders = model.leaders;
  TrwsRelaxation messages(model, leaders);
  ChoicePruning pruning(model, std::move(leaders), std::move(messages));
  pruning.settle(parameters);
  return pruning;
}

ChoicePruning ChoicePruning::spread() const {
  return {*model_, model_->leaders, TrwsRelaxation(messages_, model_->leaders)};
}

void ChoicePruning::settle(const PruningParameters& parameters) {
  double before = -kForbidden;
  for (int round = 0; round < parameters.most_block_rounds; ++round) {
    messages_.sweep(parameters.block_sweeps);
    if (messages_.bound() - before < parameters.least_block_gain * messages_.bound()) break;
    before = messages_.bound();
  }
}

void ChoicePruning::settle_at(std::span<const double> prices, std::int64_t limit,
                              const PruningParameters& parameters) {
  messages_.set_prices(prices, limit);
  settle(parameters);
}

KeptChoices ChoicePruning::at_most(double most) const {
  KeptChoices kept(leaders_.size());
  for (std::uint32_t v = 0; v < kept.size(); ++v) {
    if (leaders_[v] != v) {
      kept[v] = kept[leaders_[v]];
      continue;
    }
    for (std::uint32_t choice = 0; choice < model_->costs[v].size(); ++choice) {
      if (messages_.bound_with(v, choice) <= most) kept[v].push_back(choice);
    }
  }
  return kept;
}

KeptChoices ChoicePruning::near(double& part, double choices) const {
  const double scale = std::max(1.0, messages_.bound());
  const auto within = [&] { return at_most(messages_.least_bound_with() + part * scale); };
  KeptChoices kept = within();
  while (per_variable(kept) > choices && part > kLeastPart) {
    part /= 2;
    kept = within();
  }
  return kept;
}

double ChoicePruning::per_variable(const KeptChoices& kept) const {
  std::size_t sum = 0;
  std::size_t variables = 0;
  for (std::uint32_t v = 0; v < kept.size(); ++v) {
    if (leaders_[v] != v || model_->costs[v].size() < 2) continue;
    sum += kept[v].size();
    ++variables;
  }
  return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(variables, 1));
}

double ChoicePruning::least_left_out(const KeptChoices& kept) const {
  double least = kForbidden;
  for (std::uint32_t v = 0; v < kept.size(); ++v) {
    if (leaders_[v] != v) continue;
    auto next = kept[v].begin();
    for (std::uint32_t choice = 0; choice < model_->costs[v].size(); ++choice) {
      if (next != kept[v].end() && *next == choice) {
        ++next;
        continue;
      }
      least = std::min(least, messages_.bound_with(v, choice));
    }
  }
  return least;
}

namespace {

// In practice no limit.
constexpr std::uint64_t kAllWork = std::uint64_t{1} << 62;

// One call of sieved_search(). Thread safety: one thread at a time.
class PrunedSearch {
 public:
  PrunedSearch(const AtenModel& model, ChoicePruning& pruning, Executor& executor, Budget& budget,
               const ProblemSolveOptions& options, const PruningParameters& parameters)
      : model_(model),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters),
        pruning_(pruning),
        part_(parameters.first_part) {}

  Result<SievedSolution> run(SieveGoal goal) {
    SHARDWRIGHT_RETURN_IF_ERROR(look_near());
    for (int round = 0; round < parameters_.most_rounds && !is_closed() && !is_over(); ++round) {
      if (has_choice() && goal == SieveGoal::kAnyPlan) return finished();
      if (has_choice()) {
        pruning_.messages().exclude_above(best_.objective);
        const KeptChoices kept = pruning_.at_most(best_.objective);
        if (pruning_.per_variable(kept) <= parameters_.most_choices) {
          SHARDWRIGHT_RETURN_IF_ERROR(prove(kept, proof_work_));
          if (is_proved()) return finished();
          proof_work_ *= parameters_.work_growth;
        }
      }
      pruning_.messages().hurry(parameters_.more_hurried, parameters_.haste);
      pruning_.messages().sweep(parameters_.more_sweeps);
      SHARDWRIGHT_RETURN_IF_ERROR(look_near());
    }
    if (is_closed() || is_over()) return finished();
    const KeptChoices kept = has_choice() ? pruning_.at_most(best_.objective) : all_choices(model_);
    if (!has_choice() || num_entries(model_, kept) <= parameters_.most_last_entries)
      SHARDWRIGHT_RETURN_IF_ERROR(prove(kept, kAllWork));
    return finished();
  }

 private:
  // Solves the problem of the choices nearest to the bound, to have a good plan early.
  Status look_near() {
    offer(pruning_.messages().decode());
    if (is_closed()) return {};
    // A small problem solved completely gives better plans than a larger problem cut short.
    for (double choices = parameters_.first_choices;; choices /= 2) {
      SHARDWRIGHT_RETURN_IF_ERROR(
          solve_kept(pruning_.near(part_, choices), kForbidden, parameters_.work_of_look));
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

  // Returns true if the lower bound of all plans has reached the cost of the best plan, except for
  // the fraction `gap`.
  bool is_closed(double gap) const {
    constexpr double kRounding = 1e-10;
    return has_choice() && bound() >= best_.objective * (1 - std::max(gap, kRounding));
  }
  bool is_closed() const { return is_closed(options_.gap); }

  bool has_choice() const { return !best_.choice.empty(); }
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  // `kept`: all choices that a better plan could take.
  Status prove(const KeptChoices& kept, std::uint64_t work) {
    return solve_kept(kept, has_choice() ? best_.objective : kForbidden, work);
  }

  // Finds the best plan of the kept choices that costs less than the cutoff, if `work` suffices.
  Status solve_kept(const KeptChoices& kept, double cutoff, std::uint64_t work) {
    left_out_ = pruning_.least_left_out(kept);
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

  // Returns a lower bound of all plans.
  double bound() const { return std::max(solved_bound_, pruning_.messages().bound()); }

  // Returns true if the kept choices were solved and no plan with other choices costs less.
  bool is_proved() const {
    if (is_closed(0)) return true;
    const double least = has_choice() ? best_.objective : kForbidden;
    return (last_status_ == SolveStatus::kOptimal || last_status_ == SolveStatus::kInfeasible) &&
           least <= left_out_;
  }

  SievedSolution finished() {
    best_.lower_bound = bound();
    if (has_choice()) {
      best_.status = is_proved()   ? SolveStatus::kOptimal
                     : is_closed() ? SolveStatus::kWithinGap
                                   : SolveStatus::kFeasible;
      best_.lower_bound =
          is_proved() ? best_.objective : std::min(best_.lower_bound, best_.objective);
    } else {
      best_.status = is_proved() ? SolveStatus::kInfeasible : SolveStatus::kUnknown;
    }
    if (is_proved() || is_closed()) {
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
  const PruningParameters& parameters_;
  ChoicePruning& pruning_;
  std::uint64_t proof_work_ = parameters_.work_of_proof;  // limit of the next proof
  double part_;  // the next look takes choices within this fraction of the bound
  double solved_bound_ = 0;
  double left_out_ = kForbidden;  // least bound of the choices not in the last problem
  SolveStatus last_status_ = SolveStatus::kUnknown;
  SievedSolution best_;
};

}  // namespace

Result<SievedSolution> sieved_search(const AtenModel& model, ChoicePruning& pruning,
                                     Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options, SieveGoal goal,
                                     const PruningParameters& parameters) {
  return PrunedSearch(model, pruning, executor, budget, options, parameters).run(goal);
}

}  // namespace shardwright::operators
