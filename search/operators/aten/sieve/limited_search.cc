#include "search/operators/aten/sieve/limited_search.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "search/operators/aten/model/aten_problem.h"
#include "search/operators/solve/exact/dual/dual_ascent.h"

namespace shardwright::operators {
namespace {

// Adds the choices of `more`.
void add(const KeptChoices& more, KeptChoices& kept) {
  for (std::size_t v = 0; v < kept.size(); ++v) {
    std::vector<std::uint32_t> both;
    std::set_union(kept[v].begin(), kept[v].end(), more[v].begin(), more[v].end(),
                   std::back_inserter(both));
    kept[v] = std::move(both);
  }
}

KeptChoices only(const std::vector<std::uint32_t>& choice) {
  KeptChoices kept;
  for (const std::uint32_t each : choice)
    kept.push_back({each});
  return kept;
}

// One search.
// Thread safety: one thread at a time.
class LimitedSearch {
 public:
  LimitedSearch(const AtenModel& model, ChoiceSieve& sieve, const SievedSolution& cheapest,
                std::int64_t limit, Executor& executor, Budget& budget,
                const ProblemSolveOptions& options, const LimitedParameters& parameters)
      : model_(model),
        sieve_(sieve),
        cheapest_(cheapest),
        limit_(limit),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters) {
    options_.parameters.stages.most_labels = parameters.most_labels;
    best_.lower_bound = cheapest.lower_bound;
  }

  Result<std::optional<SievedSolution>> run() {
    first_choices();
    for (int round = 0; round < parameters_.most_rounds && !is_over(); ++round) {
      keep_movers(model_, kept_);
      SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(model_, kept_, limit_));
      Budget budget = budget_.with_work_left(parameters_.work_of_round);
      solve(problem, kept_, budget);
      if (!has_choice()) return std::optional<SievedSolution>();
      find_prices(problem);
      const double before = sieve_.per_variable(kept_);
      add_near();
      if (sieve_.per_variable(kept_) == before) break;
    }
    if (!has_choice()) return std::optional<SievedSolution>();
    best_.status = SolveStatus::kFeasible;
    const KeptChoices open = sieve_.at_most(best_.objective);
    if (!is_over() && entries(open) <= parameters_.most_entries)
      SHARDWRIGHT_RETURN_IF_ERROR(prove(open));
    best_.lower_bound = std::min(best_.lower_bound, best_.objective);
    if (const auto reason = budget_.interrupted()) best_.stopped_by = *reason;
    return std::optional<SievedSolution>(std::move(best_));
  }

 private:
  bool has_choice() const { return !best_.choice.empty(); }
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  // Choices that are good at prices from low to high.
  void first_choices() {
    kept_ = only(cheapest_.choice);
    for (std::size_t v = 0; v < kept_.size(); ++v)
      kept_[v] = kept_[model_.leaders[v]];
    add_near();
    double byte_times = 0;
    for (const AtenUsages::Usage& usage : model_.usages.usages) {
      const std::int64_t bytes =
          model_.usages.bytes[usage.bytes][cheapest_.choice[usage.variable]];
      byte_times += static_cast<double>(bytes) *
                    static_cast<double>(usage.live.end - usage.live.begin);
    }
    const double price = cheapest_.objective / std::max(byte_times, 1.0);
    for (const double part : parameters_.first_prices) {
      set_prices(std::vector<double>(model_.usages.num_time_points, part * price));
      add_near();
    }
  }

  void set_prices(const std::vector<double>& prices) {
    sieve_.messages().set_prices(prices, limit_);
    sieve_.messages().sweep(parameters_.sweeps);
    best_.lower_bound = std::max(best_.lower_bound, sieve_.messages().bound());
  }

  void add_near() {
    double part = 1;
    add(sieve_.near(part, parameters_.choices_per_prices), kept_);
  }

  // Returns what every plan of the kept choices costs at least.
  double solve(const OperatorProblem& problem, const KeptChoices& kept, Budget& budget) {
    const ProblemSolution solved = solve_problem(problem, executor_, budget, options_);
    best_.stopped_by = solved.stopped_by;
    best_.kept = 0;
    for (const auto& own : kept)
      best_.kept += own.size();
    if (!solved.choice.empty() && (!has_choice() || solved.objective < best_.objective)) {
      best_.objective = solved.objective;
      best_.choice = chosen(kept, solved.choice);
    }
    if (solved.status == SolveStatus::kInfeasible) return kForbidden;
    return solved.status == SolveStatus::kOptimal ? solved.objective : solved.lower_bound;
  }

  // The prices of the kept choices, which are good ones for all.
  void find_prices(const OperatorProblem& problem) {
    DualAscent dual(problem.lowered.instance());
    for (int round = 0; round < parameters_.price_rounds && !is_over(); ++round)
      dual.round(parameters_.price_sweeps, best_.objective, budget_);
    set_prices(dual.prices());
    sieve_.messages().exclude_above(best_.objective);
  }

  // Of all matrices.
  double entries(const KeptChoices& kept) const {
    double sum = 0;
    for (const AtenTransfers::Edge& edge : model_.transfers.edges)
      sum += static_cast<double>(kept[edge.first].size() * kept[edge.second].size());
    return sum;
  }

  // `open` has all choices that a better plan could take.
  Status prove(const KeptChoices& open) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(model_, open, limit_));
    Budget budget = budget_.with_work_left(parameters_.work_of_proof);
    const double bound = solve(problem, open, budget);
    if (bound >= best_.objective) best_.status = SolveStatus::kOptimal;
    best_.lower_bound = std::max(best_.lower_bound, bound);
    return {};
  }

  const AtenModel& model_;
  ChoiceSieve& sieve_;
  const SievedSolution& cheapest_;
  std::int64_t limit_;
  Executor& executor_;
  Budget& budget_;
  ProblemSolveOptions options_;
  const LimitedParameters& parameters_;
  KeptChoices kept_;
  SievedSolution best_;
};

}  // namespace

Result<std::optional<SievedSolution>> limited_search(
    const AtenModel& model, ChoiceSieve& sieve, const SievedSolution& cheapest, std::int64_t limit,
    Executor& executor, Budget& budget, const ProblemSolveOptions& options,
    const LimitedParameters& parameters) {
  return LimitedSearch(model, sieve, cheapest, limit, executor, budget, options, parameters).run();
}

}  // namespace shardwright::operators
