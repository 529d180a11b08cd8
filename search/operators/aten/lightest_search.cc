#include "search/operators/aten/lightest_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Sets the costs of allowed choices to 0.
void forget_costs(std::vector<double>& costs) {
  for (double& cost : costs)
    cost = cost < kForbidden ? 0 : kForbidden;
}

AtenModel without_costs(AtenModel model) {
  for (std::vector<double>& costs : model.costs)
    forget_costs(costs);
  for (AtenTransfer& transfer : model.transfers.transfers)
    forget_costs(transfer.costs);
  return model;
}

// Returns the model whose costs are the bytes held at one time point.
AtenModel with_bytes_as_costs(const AtenModel& model, std::size_t time) {
  AtenModel bytes = without_costs(model);
  for (const AtenUsages::Usage& usage : bytes.usages.usages) {
    if (time < usage.live.begin || time >= usage.live.end) continue;
    std::vector<double>& costs = bytes.costs[usage.variable];
    for (std::size_t s = 0; s < costs.size(); ++s)
      costs[s] += static_cast<double>(bytes.usages.bytes[usage.bytes][s]);
  }
  return bytes;
}

// Returns the least whole number of bytes that a bound implies, with an allowance for rounding.
std::int64_t whole_bytes(double bound) {
  constexpr double kRounding = 1e-12;
  return static_cast<std::int64_t>(std::ceil(bound * (1 - kRounding)));
}

// Returns all choices or, if their matrices would be too large, the choices with the lowest bounds.
KeptChoices light_choices(const AtenModel& bytes, const Effort& effort) {
  KeptChoices kept = all_choices(bytes);
  if (num_entries(bytes, kept) <= effort.most_entries) return kept;
  const ChoicePruning pruning(bytes, PruningParameters());
  double part = 1;
  kept = pruning.near(part, effort.choices);
  keep_movers(bytes, kept);
  return kept;
}

// One call of lightest_search(). Thread safety: one thread at a time.
class LightestSearch {
 public:
  LightestSearch(const AtenModel& model, const std::vector<std::uint32_t>& cheapest, double cost,
                 Executor& executor, Budget& budget, const ProblemSolveOptions& options,
                 const LightestParameters& parameters)
      : model_(model),
        cost_(cost),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters),
        limits_(model.usages.num_time_points, kNoLimit) {
    for (std::size_t v = 0; v < cheapest.size(); ++v)
      kept_.push_back({cheapest[model.leaders[v]]});
  }

  Result<LightestSolution> run() {
    best_.fullest = {fullest_time(model_.usages)};
    least_ = least_peak(model_.usages);
    ChoicePruning blocks = ChoicePruning::of_blocks(model_, parameters_.pruning);
    for (int turn = 0; turn < parameters_.most_turns && !is_over(); ++turn) {
      add_light(blocks);
      SHARDWRIGHT_RETURN_IF_ERROR(solve_kept());
      if (best_.choice.empty() || best_.peak <= least_ || !add_fullest()) break;
    }
    return std::move(best_);
  }

 private:
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  // At these prices, least_ bytes at all fullest times together cost `worth` times cost_.
  std::vector<double> prices() const {
    const double price = parameters_.worth * cost_ /
                         (static_cast<double>(std::max<std::int64_t>(least_, 1)) *
                          static_cast<double>(best_.fullest.size()));
    std::vector<double> prices(limits_.size(), 0);
    for (const std::size_t time : best_.fullest)
      prices[time] = price;
    return prices;
  }

  void add_light(ChoicePruning& blocks) {
    TrwsRelaxation& messages = blocks.messages();
    messages.set_prices(prices(), least_);
    messages.hurry(parameters_.sweeps, parameters_.pruning.haste);
    messages.sweep(2);
    double part = 1;
    add_choices(blocks.near(part, parameters_.choices), kept_);
  }

  // Finds a choice of nearly the lowest peak among the kept choices, by bisection.
  Status solve_kept() {
    keep_movers(model_, kept_);
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(model_, kept_, least_));
    std::int64_t low = least_;
    (void)try_within(problem, low);
    if (best_.choice.empty()) (void)try_within(problem, kNoLimit);
    for (int i = 0; i < parameters_.halvings && !best_.choice.empty() && low < best_.peak; ++i) {
      const std::int64_t middle = low + (best_.peak - low) / 2;
      if (is_over()) break;
      if (!try_within(problem, middle)) low = middle + 1;
    }
    return {};
  }

  // Searches a choice within the limit and keeps the lightest one found. Returns true if there is
  // one. A time point gets a limit only once a choice exceeds the limit there.
  bool try_within(const OperatorProblem& problem, std::int64_t limit) {
    const CostInstance& instance = problem.lowered.instance();
    SolveOptions options;
    options.seed = options_.seed;
    for (;;) {
      std::vector<std::int64_t> limits = limits_;
      for (std::int64_t& each : limits)
        each = each == kNoLimit ? kNoLimit : limit;
      Budget budget = budget_.with_work_left(parameters_.work);
      const SolveResult found = solve(instance.with_limits(std::move(limits)), executor_, budget,
                                      options, options_.parameters);
      budget_.spend(budget.work_done() - budget_.work_done());
      if (found.choice.empty()) return false;
      const std::vector<std::int64_t> held = held_bytes(instance, found.choice);
      const auto worst = std::max_element(held.begin(), held.end());
      if (best_.choice.empty() || *worst < best_.peak) {
        best_.peak = *worst;
        best_.choice = chosen(kept_, problem.lowered.operator_choice(found.choice));
        worst_ = static_cast<std::size_t>(worst - held.begin());
      }
      if (*worst <= limit) return true;
      limits_[static_cast<std::size_t>(worst - held.begin())] = 0;
    }
  }

  // Gives a price to the time point at which the lightest choice holds most. Returns false if this
  // time point has a price already.
  bool add_fullest() {
    std::vector<std::size_t>& times = best_.fullest;
    if (std::find(times.begin(), times.end(), worst_) != times.end()) return false;
    times.push_back(worst_);
    return true;
  }

  const AtenModel& model_;
  double cost_;  // of the cheapest choice
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  const LightestParameters& parameters_;
  KeptChoices kept_;
  std::vector<std::int64_t> limits_;  // by time point; kNoLimit until a choice exceeds it
  std::int64_t least_ = 0;            // no choice has a lower peak
  std::size_t worst_ = 0;             // time point at which the lightest choice holds most
  LightestSolution best_;
};

}  // namespace

Result<LightestSolution> lightest_search(const AtenModel& model,
                                         const std::vector<std::uint32_t>& cheapest, double cost,
                                         Executor& executor, Budget& budget,
                                         const ProblemSolveOptions& options,
                                         const LightestParameters& parameters) {
  return LightestSearch(model, cheapest, cost, executor, budget, options, parameters).run();
}

std::int64_t least_bytes(const AtenModel& model, const std::vector<std::size_t>& times,
                         const Budget& budget, const PruningParameters& parameters) {
  std::int64_t least = least_peak(model.usages);
  if (budget.interrupted()) return least;
  const AtenModel bytes = without_costs(model);
  ChoicePruning pruning(bytes, parameters);
  for (const std::size_t time : times) {
    if (budget.interrupted()) break;
    std::vector<double> prices(model.usages.num_time_points, 0);
    prices[time] = 1;
    pruning.messages().set_prices(prices, 0);
    pruning.messages().hurry(parameters.hurried, parameters.haste);
    pruning.messages().sweep(parameters.more_sweeps);
    const double bound = std::ceil(pruning.messages().bound());
    least = std::max(least, static_cast<std::int64_t>(bound));
  }
  return least;
}

// Minimises the bytes at fullest_time(), where a limit binds most. Other time points get a limit
// only once a choice exceeds the limit there.
Result<WithinSolution> choice_within(const AtenModel& model, std::int64_t limit,
                                     const Effort& effort, Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options) {
  const AtenModel bytes = with_bytes_as_costs(model, fullest_time(model.usages));
  const KeptChoices kept = light_choices(bytes, effort);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(bytes, kept, limit));
  const CostInstance& instance = problem.lowered.instance();
  const bool is_all = kept == all_choices(bytes);
  WithinSolution within;
  within.least_bytes = least_peak(model.usages);
  std::vector<std::int64_t> limits(instance.limits().size(), kNoLimit);
  SolveOptions solving;
  solving.seed = options.seed;
  solving.cutoff = static_cast<double>(limit) + 1;
  SolverParameters parameters = options.parameters;
  // Branch and bound can prove that there is no choice; the local search cannot.
  parameters.stages.most_branched_strategies = std::numeric_limits<std::size_t>::max();
  while (!budget.interrupted() && budget.work_left()) {
    Budget part = budget.with_work_left(effort.work);
    const SolveResult found =
        solve(instance.with_limits(limits), executor, part, solving, parameters);
    budget.spend(part.work_done() - budget.work_done());
    within.is_impossible = is_all && found.status == SolveStatus::kInfeasible;
    if (is_all) {
      within.least_bytes = std::max(
          within.least_bytes, within.is_impossible ? limit + 1 : whole_bytes(found.lower_bound));
    }
    if (found.choice.empty()) return within;
    const std::vector<std::int64_t> held = held_bytes(instance, found.choice);
    const auto exceeds = [&](std::int64_t each) { return each > limit; };
    if (std::none_of(held.begin(), held.end(), exceeds)) {
      within.choice = chosen(kept, problem.lowered.operator_choice(found.choice));
      return within;
    }
    for (std::size_t time = 0; time < held.size(); ++time)
      limits[time] = exceeds(held[time]) ? limit : limits[time];
  }
  return within;
}

}  // namespace shardwright::operators
