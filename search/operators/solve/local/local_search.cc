#include "search/operators/solve/local/local_search.h"

#include <algorithm>

#include "search/random.h"

namespace shardwright::operators {
namespace {

// The time point of the largest excess of each run of exceeded ones, ascending.
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

// A subgradient step: prices rise where the limit is exceeded and fall where there is room. The
// length is such that the excess of all time points that move is worth `worth`. Of a run of
// exceeded time points only the worst moves, as the others hold much the same. Returns false if
// nothing is priced or exceeded.
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

// Raises the price of the worst time point of each run that is exceeded.
void raise_exceeded_prices(SearchState& state, const PriceParameters& parameters) {
  double largest = 0;
  for (const double price : state.prices)
    largest = std::max(largest, price);
  for (const std::uint32_t t : exceeded_peaks(state.excess())) {
    double& price = state.prices[t];
    price += std::max(parameters.raise_of_own * price, parameters.raise_of_largest * largest);
  }
}

// Lowers prices where there is room.
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

// What the nodes that change and their pairs cost, plain and with priced bytes.
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

// Moves the prices, and goes on to the next phase where this one is over.
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
