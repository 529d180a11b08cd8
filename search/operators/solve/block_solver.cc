#include "search/operators/solve/block_solver.h"

#include <algorithm>
#include <cmath>

#include "search/random.h"

namespace shardwright::operators {
namespace {

// Returns the variable with the largest table among `draws` random variables.
std::uint32_t heaviest_drawn(const ScoreQueue& left, int draws, RandomGenerator& random) {
  const auto count = static_cast<std::uint32_t>(left.num_variables());
  std::uint32_t heaviest = Block::kOutside;
  for (int draw = 0; draw < draws; ++draw) {
    std::uint32_t v = random.remainder(count);
    while (!left.contains(v))
      v = v + 1 == count ? 0 : v + 1;
    if (heaviest == Block::kOutside || left.score(v) > left.score(heaviest)) heaviest = v;
  }
  return heaviest;
}

// Limit of the relative error between sums of the same costs in different orders.
constexpr double kBoundRounding = 1e-12;

}  // namespace

bool Block::load(const SearchState& state, std::span<const std::uint32_t> start,
                 std::span<const std::uint32_t> nodes, std::uint64_t& work) {
  variables_.clear();
  base_.clear();
  strategy_.clear();
  for (const std::uint32_t n : nodes) {
    local_[n] = num_variables();
    variables_.push_back({n, 0, 0, 0, 0});
  }
  for (std::uint32_t v = 0; v < num_variables(); ++v)
    add_variable(state, start, v, work);
  return std::any_of(variables_.begin(), variables_.end(),
                     [](const Variable& variable) { return variable.size > 1; });
}

void Block::unload() {
  for (const Variable& variable : variables_)
    local_[variable.node] = kOutside;
}

void Block::add_variable(const SearchState& state, std::span<const std::uint32_t> start,
                         std::uint32_t v, std::uint64_t& work) {
  Variable& variable = variables_[v];
  const std::uint32_t n = variable.node, size = graph_->num_strategies(n);
  const double* priced = state.priced.data() + graph_->first_strategy(n);
  column_.assign(priced, priced + size);
  work += size;
  for (const ChoiceGraph::Arc& arc : graph_->arcs(n)) {
    if (local_[arc.node] != kOutside) continue;
    const double* row = graph_->row(n, arc, start[arc.node]);
    for (std::uint32_t s = 0; s < size; ++s)
      column_[s] += row[s];
    work += size;
  }
  variable.first = static_cast<std::uint32_t>(base_.size());
  for (std::uint32_t s = 0; s < size; ++s) {
    if (column_[s] == kForbidden) continue;
    if (s == start[n]) {
      variable.current = static_cast<std::uint32_t>(base_.size()) - variable.first;
    }
    base_.push_back(column_[s]);
    strategy_.push_back(s);
  }
  variable.size = static_cast<std::uint32_t>(base_.size()) - variable.first;
}

void Block::reset_choice() {
  for (Variable& variable : variables_)
    variable.chosen = variable.current;
}

void Block::add_fixed(std::uint32_t v, const ChoiceGraph::Arc& arc) {
  const Variable& variable = variables_[v];
  const std::uint32_t other = local_[arc.node];
  const double* row = graph_->row(variable.node, arc, strategy(other, variables_[other].current));
  for (std::uint32_t i = 0; i < variable.size; ++i)
    base_[variable.first + i] += row[strategy_[variable.first + i]];
}

void Block::add_price(std::uint32_t v, std::uint32_t begin, std::uint32_t end, double price) {
  const Variable& variable = variables_[v];
  for (const ChoiceGraph::Usage& usage : graph_->usages(variable.node)) {
    if (usage.begin > begin || usage.end < end) continue;
    const std::int64_t* bytes = graph_->bytes(usage);
    for (std::uint32_t i = 0; i < variable.size; ++i) {
      base_[variable.first + i] +=
          price * static_cast<double>(bytes[strategy_[variable.first + i]]);
    }
  }
}

template <class StrategyOf>
double Block::cost(const SearchState& state, const StrategyOf& strategy_of) const {
  double cost = 0;
  for (std::uint32_t v = 0; v < num_variables(); ++v) {
    const std::uint32_t n = variables_[v].node, s = strategy_of(v);
    cost += state.priced[graph_->first_strategy(n) + s];
    for (const ChoiceGraph::Arc& arc : graph_->arcs(n)) {
      const std::uint32_t w = local_[arc.node];
      if (w != kOutside && w < v) continue;
      cost += graph_->row(n, arc, w == kOutside ? state.choice[arc.node] : strategy_of(w))[s];
    }
  }
  return cost;
}

double Block::cost_of_state(const SearchState& state) const {
  return cost(state, [&](std::uint32_t v) { return state.choice[variables_[v].node]; });
}

double Block::cost_of_chosen(const SearchState& state) const {
  return cost(state, [&](std::uint32_t v) { return strategy(v, variables_[v].chosen); });
}

void BlockElimination::prepare(Block& block, const Limits& limits, std::uint64_t key,
                               std::uint64_t& work) {
  sizes_.clear();
  for (std::uint32_t v = 0; v < block.num_variables(); ++v)
    sizes_.push_back(block[v].size);
  choose_order(block, limits, key);
  fill_pair_tables(block, work);
  buckets_.build(order_, sizes_, pairs_);
}

void BlockElimination::choose_order(const Block& block, const Limits& limits, std::uint64_t key) {
  InteractionGraph& graph = order_.graph();
  graph.reset(block.num_variables());
  for (std::uint32_t v = 0; v < block.num_variables(); ++v) {
    for (const ChoiceGraph::Arc& arc : block.graph().arcs(block[v].node)) {
      const std::uint32_t other = block.variable_of(arc.node);
      if (other != Block::kOutside) graph.add_neighbour(v, other);
    }
  }
  graph.sort();
  // Returns the number of sums that eliminating the variable takes.
  const auto score = [&](std::uint32_t v) {
    double product = sizes_[v];
    for (const std::uint32_t w : graph.neighbours(v))
      product *= sizes_[w];
    return product;
  };
  RandomGenerator random(key);
  order_.choose(EliminationOrder::ScoreReach::kNeighbours, score,
                [&](std::uint32_t v, const ScoreQueue& left) -> EliminationOrder::Decision {
                  if (left.score(v) <= static_cast<double>(limits.table)) return {};
                  return {EliminationOrder::Step::kFix, heaviest_drawn(left, limits.draws, random)};
                });
}

// Fills the tables of pairs of eliminated variables. Adds the costs of pairs with a variable that
// keeps its value to the base costs.
void BlockElimination::fill_pair_tables(Block& block, std::uint64_t& work) {
  pairs_.clear();
  first_entry_.clear();
  pair_entries_.clear();
  for (std::uint32_t position = 0; position < order_.order().size(); ++position) {
    const std::uint32_t v = order_.order()[position];
    const Block::Variable& variable = block[v];
    for (const ChoiceGraph::Arc& arc : block.graph().arcs(variable.node)) {
      const std::uint32_t w = block.variable_of(arc.node);
      if (w == Block::kOutside) continue;
      if (!decides(w)) {
        block.add_fixed(v, arc);
        continue;
      }
      if (order_.position(w) < position) continue;
      pairs_.push_back({v, w});
      first_entry_.push_back(pair_entries_.size());
      for (std::uint32_t j = 0; j < block[w].size; ++j) {
        const double* row = block.graph().row(variable.node, arc, block.strategy(w, j));
        for (std::uint32_t i = 0; i < variable.size; ++i)
          pair_entries_.push_back(row[block.strategy(v, i)]);
      }
      work += std::uint64_t{block[w].size} * variable.size;
    }
  }
}

void BlockElimination::start(const Block& block, const Buckets::Bucket& bucket) {
  const auto factors = buckets_.factors(bucket);
  sum_.start(buckets_.shape(bucket), block.base_costs(bucket.variable), [&](std::size_t f) {
    return factors[f].is_message ? messages_.data() + buckets_[factors[f].source].first_message
                                 : pair_entries_.data() + first_entry_[factors[f].source];
  });
}

void BlockElimination::minimize(Block& block, std::uint64_t& work) {
  if (messages_.size() < buckets_.num_entries()) messages_.resize(buckets_.num_entries());
  for (const Buckets::Bucket& bucket : buckets_.list()) {
    start(block, bucket);
    sum_.send(messages_.data() + bucket.first_message);
    work += bucket.entries * bucket.own_size;
  }
  block.reset_choice();
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    const Buckets::Bucket& bucket = buckets_[b];
    const auto separator = buckets_.separator(bucket);
    start(block, bucket);
    sum_.seek([&](std::size_t i) { return block[separator[i]].chosen; });
    const auto sums = sum_.sums();
    std::uint32_t best = block[bucket.variable].current;
    for (std::uint32_t s = 0; s < sums.size(); ++s) {
      if (sums[s] < sums[best]) best = s;
    }
    block.choose(bucket.variable, best);
  }
}

Excess ExcessFinder::largest(const SearchState& state, std::span<const ChoiceChange> changes) {
  const ChoiceGraph& graph = state.graph;
  events_.clear();
  for (const ChoiceChange& change : changes) {
    for (const ChoiceGraph::Usage& usage : graph.usages(change.node)) {
      const std::int64_t* bytes = graph.bytes(usage);
      const std::int64_t more = bytes[change.strategy] - bytes[state.choice[change.node]];
      if (more == 0) continue;
      events_.push_back({usage.begin, more});
      events_.push_back({usage.end, -more});
    }
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.time < b.time; });
  Excess worst;
  std::int64_t more = 0;
  for (std::size_t i = 0; i < events_.size();) {
    const std::uint32_t time = events_[i].time;
    for (; i < events_.size() && events_[i].time == time; ++i)
      more += events_[i].bytes;
    if (more <= 0 || i == events_.size()) continue;
    const std::int64_t bytes = state.profile.max_excess(time, events_[i].time) + more;
    if (bytes > worst.bytes) worst = {bytes, time, events_[i].time, more};
  }
  return worst;
}

void BlockSolver::list_changes(const SearchState& state) {
  changed_.clear();
  for (std::uint32_t v = 0; v < block_.num_variables(); ++v) {
    const std::uint32_t strategy = block_.strategy(v, block_[v].chosen);
    if (strategy != state.choice[block_[v].node]) changed_.push_back({block_[v].node, strategy});
  }
}

BlockSolver::Outcome BlockSolver::solve(const SearchState& state,
                                        std::span<const std::uint32_t> start,
                                        std::span<const std::uint32_t> nodes, bool within_limits,
                                        std::uint64_t key) {
  Outcome outcome;
  changed_.clear();
  if (block_.load(state, start, nodes, outcome.work)) {
    elimination_.prepare(block_, {max_table_, parameters_.draws}, key, outcome.work);
    search(state, within_limits, outcome);
  }
  block_.unload();
  return outcome;
}

void BlockSolver::search(const SearchState& state, bool within_limits, Outcome& outcome) {
  const double before = block_.cost_of_state(state);
  for (int attempt = 0; attempt < parameters_.most_attempts; ++attempt) {
    elimination_.minimize(block_, outcome.work);
    list_changes(state);
    const double gain = before - block_.cost_of_chosen(state);
    if (changed_.empty() || !(gain > kBoundRounding * std::abs(before))) return changed_.clear();
    outcome.work += changed_.size();
    const Excess excess = within_limits ? excess_.largest(state, changed_) : Excess{};
    if (excess.bytes <= 0) {
      outcome.improved = true;
      outcome.gain = gain;
      return;
    }
    changed_.clear();
    const double gain_per_byte = gain / static_cast<double>(excess.more);
    if (!outcome.blocked) {
      outcome.blocked = true;
      outcome.blocked_at =
          static_cast<std::uint32_t>(state.profile.most_exceeded(excess.begin, excess.end));
      outcome.gain_per_byte = gain_per_byte;
    }
    for (std::uint32_t v = 0; v < block_.num_variables(); ++v) {
      if (elimination_.decides(v))
        block_.add_price(v, excess.begin, excess.end, parameters_.overshoot * gain_per_byte);
    }
  }
}

}  // namespace shardwright::operators
