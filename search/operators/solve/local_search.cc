#include "search/operators/solve/local_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "search/operators/solve/choice_graph.h"
#include "search/random.h"

namespace shardwright::operators {
namespace {

// The search of first_feasible(). Thread safety: one thread at a time.
class FeasibleAssignment {
 public:
  FeasibleAssignment(const ChoiceGraph& graph, Budget& budget, std::uint64_t seed,
                     const FeasibleParameters& parameters)
      : graph_(graph),
        budget_(budget),
        seed_(seed),
        parameters_(parameters),
        domains_(graph),
        importance_(graph.limits().size(), 1.0),
        weight_(graph.num_strategies()),
        failures_(graph.num_nodes(), 0) {}

  std::optional<std::vector<std::uint32_t>> find() {
    if (!domains_.make_consistent()) return std::nullopt;
    consistent_ = domains_.removals().size();
    weigh_times(held_at_least());
    for (int round = 0; round < parameters_.most_rounds; ++round) {
      if (budget_.interrupted() || !budget_.work_left()) break;
      weigh_strategies();
      const bool assigned = assign_all();
      budget_.spend(domains_.work() - spent_);
      spent_ = domains_.work();
      if (!assigned) return std::nullopt;
      const std::vector<double> held = held_at_least();
      double fullest = 0;
      for (const double share : held)
        fullest = std::max(fullest, share);
      if (fullest <= 1) return choice();
      weigh_times(held);
    }
    return std::nullopt;
  }

 private:
  // By time point: the bytes of all nodes' lightest remaining strategies, divided by the limit.
  std::vector<double> held_at_least() const {
    const auto limits = graph_.limits();
    std::vector<std::int64_t> change(limits.size() + 1, 0);
    for (std::uint32_t n = 0; n < graph_.num_nodes(); ++n) {
      for (const ChoiceGraph::Usage& usage : graph_.usages(n)) {
        const std::int64_t* bytes = graph_.bytes(usage);
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::uint32_t s = 0; s < graph_.num_strategies(n); ++s) {
          if (domains_.alive(n, s)) least = std::min(least, bytes[s]);
        }
        change[usage.begin] += least;
        change[usage.end] -= least;
      }
    }
    std::vector<double> held(limits.size());
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < limits.size(); ++t) {
      sum += change[t];
      // Despite rounding, only a sum above the limit may give more than 1.
      held[t] = sum > limits[t]
                    ? std::max(1.0 + 1e-9, static_cast<double>(sum) /
                                               std::max(1.0, static_cast<double>(limits[t])))
                    : std::min(1.0, static_cast<double>(sum) /
                                        static_cast<double>(std::max<std::int64_t>(limits[t], 1)));
    }
    return held;
  }

  void weigh_times(const std::vector<double>& held) {
    double largest = 0;
    for (std::size_t t = 0; t < held.size(); ++t) {
      importance_[t] *= std::pow(std::max(held[t], parameters_.least_fill), parameters_.fill_power);
      largest = std::max(largest, importance_[t]);
    }
    for (double& importance : importance_)
      importance = std::max(importance / largest, parameters_.least_weight);
  }

  void weigh_strategies() {
    std::vector<double> before(importance_.size() + 1, 0.0);
    for (std::size_t t = 0; t < importance_.size(); ++t)
      before[t + 1] = before[t] + importance_[t];
    spread_.assign(graph_.num_nodes(), 0.0);
    for (std::uint32_t n = 0; n < graph_.num_nodes(); ++n) {
      double* column = weight_.data() + graph_.first_strategy(n);
      const std::uint32_t size = graph_.num_strategies(n);
      std::fill(column, column + size, 0.0);
      for (const ChoiceGraph::Usage& usage : graph_.usages(n)) {
        const std::int64_t* bytes = graph_.bytes(usage);
        for (std::uint32_t s = 0; s < size; ++s) {
          column[s] += (before[usage.end] - before[usage.begin]) * static_cast<double>(bytes[s]);
        }
      }
      const auto [least, most] = std::minmax_element(column, column + size);
      spread_[n] = *most - *least;
    }
  }

  double least_weight(std::uint32_t n) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t s = 0; s < graph_.num_strategies(n); ++s) {
      if (domains_.alive(n, s)) {
        least = std::min(least, weight_[graph_.first_strategy(n) + s]);
      }
    }
    return least;
  }

  bool assign_all() {
    for (int restart = 0; restart <= parameters_.most_restarts; ++restart) {
      domains_.undo_to(consistent_);
      least_.resize(graph_.num_nodes());
      for (std::uint32_t n = 0; n < graph_.num_nodes(); ++n)
        least_[n] = least_weight(n);
      std::vector<std::uint32_t> order(graph_.num_nodes());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (failures_[a] != failures_[b]) return failures_[a] > failures_[b];
        if (restart < parameters_.steered_restarts) return spread_[a] > spread_[b];
        const std::uint64_t salt = seed_ + restarts_;
        return RandomGenerator::bits_at(salt, a) < RandomGenerator::bits_at(salt, b);
      });
      bool complete = true;
      for (const std::uint32_t n : order) {
        if (domains_.left(n) == 1) continue;
        if (!assign(n)) {
          ++failures_[n];
          // Goes on to the other nodes, so that one restart finds all nodes that fail.
          complete = false;
        }
        if (budget_.interrupted()) return false;
      }
      if (complete) return true;
      ++restarts_;
    }
    return false;
  }

  // Returns by how much the removals since `mark` raise the sum of the nodes' least weights.
  double consequences(std::size_t mark) {
    double more = 0;
    const auto& removals = domains_.removals();
    touched_.clear();
    for (std::size_t i = mark; i < removals.size(); ++i)
      touched_.push_back(removals[i].node);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const std::uint32_t n : touched_)
      more += least_weight(n) - least_[n];
    return more;
  }

  bool assign(std::uint32_t n) {
    candidates_.clear();
    for (std::uint32_t s = 0; s < graph_.num_strategies(n); ++s) {
      if (domains_.alive(n, s)) candidates_.push_back(s);
    }
    const double* weight = weight_.data() + graph_.first_strategy(n);
    const auto costs = graph_.costs(n);
    std::stable_sort(candidates_.begin(), candidates_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return weight[a] != weight[b] ? weight[a] < weight[b] : costs[a] < costs[b];
    });
    const std::size_t mark = domains_.removals().size();
    std::uint32_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    std::size_t found = 0;
    for (const std::uint32_t s : candidates_) {
      // Consequences only add weight, so no later candidate can weigh less.
      if (found >= parameters_.most_trials || weight[s] - least_[n] >= least) break;
      if (domains_.assign(n, s)) {
        ++found;
        const double more = consequences(mark);
        if (more < least) {
          least = more;
          best = s;
        }
      }
      domains_.undo_to(mark);
    }
    if (found == 0) return false;
    domains_.assign(n, best);
    consequences(mark);
    for (const std::uint32_t m : touched_)
      least_[m] = least_weight(m);
    return true;
  }

  std::vector<std::uint32_t> choice() const {
    std::vector<std::uint32_t> result(graph_.num_nodes());
    for (std::uint32_t n = 0; n < result.size(); ++n) {
      while (!domains_.alive(n, result[n]))
        ++result[n];
    }
    return result;
  }

  const ChoiceGraph& graph_;
  Budget& budget_;
  std::uint64_t seed_;
  const FeasibleParameters& parameters_;
  std::uint64_t restarts_ = 0;
  std::uint64_t spent_ = 0;
  ConsistentDomains domains_;
  std::size_t consistent_ = 0;      // number of removals that hold for every choice
  std::vector<double> importance_;  // of a byte, by time point; the highest is 1
  std::vector<double> weight_;      // of the bytes held, by strategy
  std::vector<double> spread_;      // weight of the heaviest less the lightest, by node
  std::vector<double> least_;       // weight of the lightest remaining strategy, by node
  std::vector<std::uint32_t> failures_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> first_feasible(const ChoiceGraph& graph, Budget& budget,
                                                         std::uint64_t seed,
                                                         const FeasibleParameters& parameters) {
  return FeasibleAssignment(graph, budget, seed, parameters).find();
}

namespace {

// Returns the time point of largest excess of each run of consecutive exceeded time points.
std::vector<std::uint32_t> exceeded_peaks(const std::vector<std::int64_t>& excess) {
  std::vector<std::uint32_t> peaks;
  for (std::uint32_t t = 0; t < excess.size(); ++t) {
    if (excess[t] <= 0) continue;
    std::uint32_t peak = t;
    while (t + 1 < excess.size() && excess[t + 1] > 0) {
      ++t;
      if (excess[t] > excess[peak]) peak = t;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// Takes a subgradient step: prices rise where a limit is exceeded and fall where there is room. The
// sum of price change times excess is `worth`. In a run of consecutive exceeded time points, only
// the price at the largest excess moves, since the others hold similar bytes. Returns false if no
// time point has a price or an excess.
bool step_prices(SearchState& state, double worth) {
  const std::vector<std::int64_t> excess = state.excess();
  std::vector<std::uint32_t> times = exceeded_peaks(excess);
  for (std::uint32_t t = 0; t < excess.size(); ++t) {
    if (excess[t] <= 0 && state.prices[t] > 0) times.push_back(t);
  }
  std::sort(times.begin(), times.end());
  double squares = 0;
  for (const std::uint32_t t : times) {
    const double by = static_cast<double>(excess[t]);
    squares += by * by;
  }
  if (squares == 0) return false;
  const double factor = worth / squares;
  for (const std::uint32_t t : times) {
    double& price = state.prices[t];
    price = std::max(0.0, price + factor * static_cast<double>(excess[t]));
  }
  return true;
}

// Raises the prices of exceeded_peaks().
void raise_exceeded_prices(SearchState& state, const PriceParameters& parameters) {
  double largest = 0;
  for (const double price : state.prices)
    largest = std::max(largest, price);
  for (const std::uint32_t t : exceeded_peaks(state.excess())) {
    double& price = state.prices[t];
    price += std::max(parameters.raise_of_own * price, parameters.raise_of_largest * largest);
  }
}

// Lowers the prices of time points with room.
void lower_idle_prices(SearchState& state, const PriceParameters& parameters) {
  const std::vector<std::int64_t> excess = state.excess();
  const auto limits = state.graph.limits();
  for (std::size_t t = 0; t < excess.size(); ++t) {
    const double room = static_cast<double>(-excess[t]);
    if (state.prices[t] > 0 && room > parameters.room * static_cast<double>(limits[t]))
      state.prices[t] *= parameters.decay;
  }
}

double total_cost(const ChoiceGraph& graph, std::span<const std::uint32_t> choice) {
  double cost = 0;
  for (std::size_t n = 0; n < choice.size(); ++n) {
    cost += graph.costs(n)[choice[n]];
    for (const ChoiceGraph::Arc& arc : graph.arcs(n)) {
      if (arc.node > n) cost += graph.row(n, arc, choice[arc.node])[choice[n]];
    }
  }
  return cost;
}

}  // namespace

LocalSearch::LocalSearch(const ChoiceGraph& graph, std::span<const std::uint32_t> choice,
                         unsigned workers, LocalSearchOptions options,
                         const LocalSearchParameters& parameters)
    : graph_(graph),
      options_(std::move(options)),
      parameters_(parameters),
      picker_(graph, parameters.blocks.picker),
      state_(graph),
      arms_(parameters.arms, !graph.holders().empty()) {
  if (!options_.prices.empty()) {
    state_.prices = graph.at_kept_times(options_.prices);
    state_.update_priced();
  }
  state_.set_choice(choice);
  cost_ = best_cost_ = total_cost(graph, choice);
  best_.assign(choice.begin(), choice.end());
  best_prices_ = state_.prices;
  candidates_.resize(parameters_.blocks_per_batch);
  for (unsigned w = 0; w < workers; ++w)
    workers_.push_back(std::make_unique<Worker>(graph, parameters_));
  stamp_.assign(graph.num_nodes(), 0);
  steps_left_ = parameters_.relaxation.first_steps[0];
  step_ = parameters_.relaxation.first_sizes[0];
  if (!options_.relaxed_start.empty()) {
    begin_from(options_.relaxed_start);
  }
  if (options_.descent_passes > 0) phase_ = Phase::kStrict;
  phase_best_ = best_cost_;
}

void LocalSearch::suggest(std::span<const std::uint32_t> choice, std::span<const double> prices) {
  if (total_cost(graph_, choice) >= kForbidden) return;
  suggested_.assign(choice.begin(), choice.end());
  suggested_prices_ = graph_.at_kept_times(prices);
}

std::size_t LocalSearch::propose(std::size_t, const Budget&) {
  if (graph_.num_nodes() == 0) return 0;
  if (options_.descent_passes > 0 && all_passes_ >= options_.descent_passes) return 0;
  arms_.update_shares();
  const std::size_t count = candidates_.size();
  for (std::size_t i = 0; i < count; ++i) {
    candidates_[i].key = RandomGenerator::bits_at(options_.seed, batch_ * count + i);
    RandomGenerator random(candidates_[i].key);
    candidates_[i].arm = arms_.draw(random);
  }
  ++batch_;
  return count;
}

void LocalSearch::evaluate(std::size_t, unsigned worker, std::size_t begin, std::size_t end,
                           const Budget&) {
  Worker& own = *workers_[worker];
  for (std::size_t i = begin; i < end; ++i) {
    Candidate& candidate = candidates_[i];
    const BlockShape& shape = arms_.shape(candidate.arm);
    const std::uint64_t before = own.scratch.domains.work();
    candidate.changes.clear();
    candidate.outcome = {};
    if (picker_.pick(state_, shape, own.scratch, candidate.key)) {
      own.solver.set_max_table(shape.max_table);
      candidate.outcome = own.solver.solve(
          state_, shape.kind == BlockKind::kFollow ? own.scratch.choice : state_.choice,
          own.scratch.block, phase_ != Phase::kRelaxed, candidate.key);
      candidate.changes.assign(own.solver.changed().begin(), own.solver.changed().end());
    }
    candidate.size = own.scratch.block.size();
    candidate.outcome.work += own.scratch.domains.work() - before;
  }
}

// Returns the cost of the changing nodes and their pairs, first without and then with priced bytes.
std::pair<double, double> LocalSearch::cost_around(std::span<const ChoiceChange> changes) const {
  double plain = 0, priced = 0;
  for (const ChoiceChange& change : changes) {
    const std::uint32_t n = change.node, s = state_.choice[n];
    double cost = 0;
    for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
      if (stamp_[arc.node] != 0 && arc.node < n) continue;
      cost += graph_.row(n, arc, state_.choice[arc.node])[s];
    }
    plain += cost + graph_.costs(n)[s];
    priced += cost + state_.priced[graph_.first_strategy(n) + s];
  }
  return {plain, priced};
}

void LocalSearch::apply(Candidate& candidate) {
  std::vector<ChoiceChange>& changes = candidate.changes;
  for (const ChoiceChange& change : changes)
    stamp_[change.node] = 1;
  const auto [plain, priced] = cost_around(changes);
  const auto exchange = [&] {
    for (ChoiceChange& change : changes) {
      const std::uint32_t old = state_.choice[change.node];
      state_.change(change.node, change.strategy);
      change.strategy = old;
    }
  };
  const std::int64_t excess_before = state_.profile.max_excess();
  exchange();
  const auto [new_plain, new_priced] = cost_around(changes);
  const bool within = phase_ == Phase::kRelaxed ||
                      state_.profile.max_excess() <= std::max<std::int64_t>(excess_before, 0);
  if (new_priced < priced && within) {
    cost_ += new_plain - plain;
    arms_.add_gain(candidate.arm, priced - new_priced);
  } else {
    exchange();
  }
  for (const ChoiceChange& change : changes)
    stamp_[change.node] = 0;
}

bool LocalSearch::synchronize(std::size_t, Budget& budget) {
  arms_.fade();
  for (Candidate& candidate : candidates_) {
    const BlockSolver::Outcome& outcome = candidate.outcome;
    budget.spend(outcome.work + 1);
    arms_.add_block(candidate.arm, static_cast<double>(outcome.work) + 1);
    nodes_seen_ += candidate.size;
    if (outcome.blocked) {
      state_.prices[outcome.blocked_at] += parameters_.prices.blocked_step * outcome.gain_per_byte;
    }
    if (outcome.improved) apply(candidate);
  }
  ++batches_without_better_;
  if (state_.profile.max_excess() <= 0) keep_best();
  if (nodes_seen_ >= graph_.num_nodes()) end_pass();
  return true;
}

// Precondition: the current choice is within the limits.
void LocalSearch::keep_best() {
  if (cost_ < best_cost_) {
    batches_without_better_ = 0;
    best_cost_ = cost_;
    best_ = state_.choice;
    best_prices_ = state_.prices;
  }
  if (phase_ == Phase::kStrict && cost_ < phase_best_) {
    if (cost_ < phase_best_ * (1 - parameters_.progress)) passes_ = 0;
    phase_best_ = cost_;
  }
}

// Moves the prices at the end of a pass. Starts the next phase if this phase is over.
void LocalSearch::end_pass() {
  nodes_seen_ = 0;
  ++passes_;
  ++all_passes_;
  switch (phase_) {
    case Phase::kRelaxed:
      if (steps_left_-- > 0) {
        if (step_prices(state_, step_ * cost_)) step_ *= parameters_.relaxation.decay;
      } else {
        phase_ = Phase::kRepair;
      }
      break;
    case Phase::kRepair:
      if (state_.profile.max_excess() > 0) {
        raise_exceeded_prices(state_, parameters_.prices);
      } else {
        phase_ = Phase::kStrict;
        passes_ = 0;
        phase_best_ = cost_;
      }
      break;
    case Phase::kStrict:
      lower_idle_prices(state_, parameters_.prices);
      if (passes_ > parameters_.strict_passes) begin_relaxed();
      break;
  }
  state_.update_priced();
}

// Returns false if there is no suggestion.
bool LocalSearch::begin_suggested() {
  if (suggested_.empty()) return false;
  begin_from(suggested_);
  state_.prices = suggested_prices_;
  suggested_.clear();
  return true;
}

void LocalSearch::begin_from(std::span<const std::uint32_t> suggested) {
  state_.set_choice(suggested);
  cost_ = total_cost(graph_, suggested);
  const RelaxationParameters& relaxation = parameters_.relaxation;
  steps_left_ = relaxation.suggested_steps[suggestions_++ % relaxation.suggested_steps.size()];
  step_ = relaxation.suggested_size;
}

void LocalSearch::begin_relaxed() {
  const RelaxationParameters& relaxation = parameters_.relaxation;
  phase_ = Phase::kRelaxed;
  if (begin_suggested()) return;
  if (cost_ > relaxation.give_up * best_cost_) {
    state_.set_choice(best_);
    cost_ = best_cost_;
    state_.prices = best_prices_;
  }
  ++cycle_;
  const bool first = cycle_ < relaxation.first_steps.size();
  const std::size_t later = cycle_ % relaxation.later_steps.size();
  steps_left_ = first ? relaxation.first_steps[cycle_] : relaxation.later_steps[later];
  step_ = first ? relaxation.first_sizes[cycle_] : relaxation.later_sizes[later];
}

}  // namespace shardwright::operators
