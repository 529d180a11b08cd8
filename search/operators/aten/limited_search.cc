#include "search/operators/aten/limited_search.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {
namespace {

KeptChoices only(const std::vector<std::uint32_t>& choice) {
  KeptChoices kept;
  for (const std::uint32_t each : choice)
    kept.push_back({each});
  return kept;
}

std::size_t size(const KeptChoices& kept) {
  std::size_t sum = 0;
  for (const std::vector<std::uint32_t>& own : kept)
    sum += own.size();
  return sum;
}

// One call of limited_search(). Thread safety: one thread at a time.
class LimitedSearch {
 public:
  LimitedSearch(const AtenModel& model, const SievedSolution& cheapest, std::int64_t limit,
                const LimitedContext& context, Executor& executor, Budget& budget,
                const ProblemSolveOptions& options, const LimitedParameters& parameters)
      : model_(model),
        cheapest_(cheapest),
        limit_(limit),
        context_(context),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters),
        choices_(parameters.choices_per_prices),
        limits_(model.usages.num_time_points, std::numeric_limits<std::int64_t>::max()),
        prices_(limits_.size(), 0) {
    options_.parameters.stages.most_labels = parameters.most_labels;
    if (context.known != nullptr) {
      best_.choice = context.known->choice;
      best_.objective = context.known->objective;
    }
    best_.lower_bound = cheapest.lower_bound;
  }

  Result<std::optional<SievedSolution>> run() {
    if (is_over()) return std::optional<SievedSolution>();
    ChoicePruning blocks = ChoicePruning::of_blocks(model_, parameters_.pruning);
    if (context_.kept->empty()) {
      first_choices(blocks);
    } else {
      take_kept();
    }
    if (options_.gap > 0) SHARDWRIGHT_RETURN_IF_ERROR(improve_first(blocks));
    double most = parameters_.most_entries;
    for (int round = 1; !is_over(); ++round) {
      SHARDWRIGHT_RETURN_IF_ERROR(solve_kept());
      if (!has_choice()) break;
      if (!is_accepted()) break;
      find_messages(blocks);
      const KeptChoices open = sharpen();
      report();
      if (is_closed()) break;
      const bool last = round == parameters_.most_rounds;
      if (num_entries(model_, open) <= (last ? parameters_.most_last_entries : most)) {
        SHARDWRIGHT_RETURN_IF_ERROR(prove(open));
        if (is_closed() || !is_accepted()) break;
        // Tries the next proof when better plans have halved the problem.
        most = num_entries(model_, open) / 2;
      }
      if (last) break;
      add_more();
    }
    leave_kept();
    if (!has_choice()) return std::optional<SievedSolution>();
    best_.lower_bound = std::min(best_.lower_bound, best_.objective);
    best_.status = best_.lower_bound == best_.objective ? SolveStatus::kOptimal
                   : is_closed()                        ? SolveStatus::kWithinGap
                                                        : SolveStatus::kFeasible;
    if (const auto reason = budget_.interrupted()) best_.stopped_by = *reason;
    return std::optional<SievedSolution>(std::move(best_));
  }

 private:
  bool has_choice() const { return !best_.choice.empty(); }
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  void report() const {
    if (!options_.on_progress) return;
    options_.on_progress(
        {best_.choice, best_.objective, std::min(best_.lower_bound, best_.objective)});
  }

  // Returns true if no plan within the limit costs less than the best one, except for the gap.
  bool is_closed() const {
    return has_choice() && best_.lower_bound >= best_.objective * (1 - options_.gap);
  }

  bool is_accepted() const { return context_.accepts(best_); }

  // Takes over the choices of an earlier search, except movers, whose variables may differ.
  void take_kept() {
    kept_ = only(cheapest_.choice);
    KeptChoices more = *context_.kept;
    more.resize(kept_.size());
    add_choices(more, kept_);
  }

  void leave_kept() {
    *context_.kept = std::move(kept_);
    context_.kept->resize(model_.variables.num_consumers());
  }

  // Keeps choices that are good at prices from low to high. `blocks` has messages without prices.
  void first_choices(ChoicePruning blocks) {
    kept_ = only(cheapest_.choice);
    for (std::size_t v = 0; v < kept_.size(); ++v)
      kept_[v] = kept_[model_.leaders[v]];
    add_near(blocks);
    double byte_times = 0;
    for (const AtenUsages::Usage& usage : model_.usages.usages) {
      const std::int64_t bytes = model_.usages.bytes[usage.bytes][cheapest_.choice[usage.variable]];
      byte_times +=
          static_cast<double>(bytes) * static_cast<double>(usage.live.end - usage.live.begin);
    }
    const double price = cheapest_.objective / std::max(byte_times, 1.0);
    for (const double part : parameters_.first_prices) {
      if (is_over()) return;
      TrwsRelaxation& messages = blocks.messages();
      messages.set_prices(std::vector<double>(model_.usages.num_time_points, part * price), limit_);
      messages.hurry(parameters_.first_sweeps, parameters_.pruning.haste);
      messages.sweep(2);
      add_near(blocks);
    }
  }

  // Adds choices that are good at the prices of the first problem, with repeated blocks merged. This
  // takes less time than a round, and the next prices are near the best ones.
  Status improve_first(ChoicePruning& blocks) {
    SHARDWRIGHT_RETURN_IF_ERROR(solve_kept());
    if (!has_choice() || is_over()) return {};
    blocks.settle_at(prices_, limit_, parameters_.pruning);
    add_near(blocks);
    return {};
  }

  // Computes bounds at the prices of the last problem. The first messages come from `blocks`, where
  // repeated blocks are merged to one.
  void find_messages(ChoicePruning& blocks) {
    if (!pruning_) {
      blocks.settle_at(prices_, limit_, parameters_.pruning);
      pruning_ = blocks.spread();
    }
    pruning_->messages().set_prices(prices_, limit_);
    pruning_->messages().hurry(parameters_.pruning.hurried, parameters_.pruning.haste);
    sweep(parameters_.sweeps);
  }

  void sweep(int times) {
    pruning_->messages().sweep(times);
    best_.lower_bound = std::max(best_.lower_bound, pruning_->messages().bound());
  }

  void add_near(const ChoicePruning& pruning) {
    double part = 1;
    add_choices(pruning.near(part, choices_), kept_);
  }

  // Adds choices that are good at the current prices. If few of them are new, adds more.
  void add_more() {
    const auto before = static_cast<double>(size(kept_));
    add_near(*pruning_);
    while (static_cast<double>(size(kept_)) < before * parameters_.least_growth &&
           choices_ < parameters_.most_choices) {
      choices_ *= 2;
      add_near(*pruning_);
    }
  }

  Status solve_kept() {
    keep_movers(model_, kept_);
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(model_, kept_, limit_));
    SolveOptions options;
    options.seed = options_.seed;
    options_.parameters.exact.counts.most_parts = parameters_.most_parts;
    (void)solve(problem, kept_, options, parameters_.work_of_round);
    return {};
  }

  // Finds the best plan of the kept choices, if the work suffices. Returns a lower bound of all
  // such plans. A time point gets a limit only once a plan exceeds the limit there, since few time
  // points bind and further limits would hinder reductions.
  double solve(const OperatorProblem& problem, const KeptChoices& kept, const SolveOptions& options,
               std::uint64_t work) {
    best_.kept = size(kept);
    const CostInstance& instance = problem.lowered.instance();
    bool is_trial = !knows_limits_;  // other time points may bind, too
    for (;;) {
      Budget budget =
          budget_.with_work_left(is_trial ? std::min(work, parameters_.work_of_limits) : work);
      const SolveResult found = operators::solve(instance.with_limits(limits_), executor_, budget,
                                                 options, options_.parameters);
      budget_.spend(budget.work_done() - budget_.work_done());
      best_.stopped_by = found.stopped_by;
      // Prices of a search that ended early with a worse bound are ignored.
      if (!found.prices.empty() && found.lower_bound >= best_.lower_bound) prices_ = found.prices;
      if (found.status == SolveStatus::kInfeasible) return kForbidden;
      const bool is_done = !is_trial || found.status == SolveStatus::kOptimal || is_over();
      knows_limits_ |= is_done;
      if (found.choice.empty() && is_done) return found.lower_bound;
      if (found.choice.empty()) {
        is_trial = false;
        continue;
      }
      const std::vector<std::int64_t> held = held_bytes(instance, found.choice);
      const auto worst = std::max_element(held.begin(), held.end());
      if (*worst > limit_) {
        limits_[static_cast<std::size_t>(worst - held.begin())] = limit_;
        continue;
      }
      if (!has_choice() || found.objective < best_.objective) {
        best_.objective = found.objective;
        best_.choice = chosen(kept, problem.lowered.operator_choice(found.choice));
      }
      if (is_done)
        return found.status == SolveStatus::kOptimal ? found.objective : found.lower_bound;
      is_trial = false;
    }
  }

  // Sweeps while the bound rises enough. Returns the choices that a better plan could take.
  KeptChoices sharpen() {
    for (int i = 0;; ++i) {
      pruning_->messages().exclude_above(best_.objective);
      KeptChoices open = pruning_->at_most(best_.objective);
      if (i == parameters_.most_sharpenings || is_closed() || is_over()) return open;
      const double before = pruning_->messages().bound();
      sweep(parameters_.sweeps);
      const double gain = pruning_->messages().bound() - before;
      if (gain < parameters_.least_gain * (best_.objective - before)) return open;
    }
  }

  // `open`: all choices that a better plan could take.
  Status prove(const KeptChoices& open) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(model_, open, limit_));
    const bool is_close =
        best_.objective - best_.lower_bound <= parameters_.close * best_.objective;
    SolveOptions options;
    options.seed = options_.seed;
    options.cutoff = best_.objective;
    options.prices = prices_;
    // If the plan is close to the bound, labels alone suffice for the proof.
    options_.parameters.exact.counts.most_parts = is_close ? 0 : parameters_.most_parts;
    const double bound = solve(problem, open, options,
                               is_close ? parameters_.work_if_close : parameters_.work_of_proof);
    if (bound >= best_.objective) best_.status = SolveStatus::kOptimal;
    best_.lower_bound = std::max(best_.lower_bound, bound);
    return {};
  }

  const AtenModel& model_;
  const SievedSolution& cheapest_;
  std::int64_t limit_;
  const LimitedContext& context_;
  Executor& executor_;
  Budget& budget_;
  ProblemSolveOptions options_;
  const LimitedParameters& parameters_;
  double choices_;                    // number per variable that each set of prices adds
  std::vector<std::int64_t> limits_;  // by time point
  bool knows_limits_ = false;         // limits_ has all time points that bind
  KeptChoices kept_;
  std::vector<double> prices_;            // those of the last problem solved
  std::optional<ChoicePruning> pruning_;  // for all plans, at the last prices
  SievedSolution best_;
};

}  // namespace

Result<std::optional<SievedSolution>> limited_search(
    const AtenModel& model, const SievedSolution& cheapest, std::int64_t limit,
    const LimitedContext& context, Executor& executor, Budget& budget,
    const ProblemSolveOptions& options, const LimitedParameters& parameters) {
  return LimitedSearch(model, cheapest, limit, context, executor, budget, options, parameters)
      .run();
}

}  // namespace shardwright::operators
