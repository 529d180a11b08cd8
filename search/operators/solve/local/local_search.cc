// Picks blocks, takes in what they gain, and moves the prices of memory.
#include "search/operators/solve/local/local_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "search/random.h"

namespace shardwright::operators {
namespace {

// Blocks of a batch: enough for the workers of a machine, few enough to see each other's results.
constexpr std::size_t kBlocks = 16;
// While relaxed: steps of the prices, each after a pass over all nodes, and the share of the cost
// that the first is worth. The first cycles, then those that are repeated.
struct Relaxation {
  int steps;
  double step;
};
constexpr std::array<Relaxation, 2> kFirstCycles{{{12, 0.1}, {40, 0.1}}};
constexpr std::array<Relaxation, 3> kLaterCycles{{{8, 0.01}, {16, 0.03}, {40, 0.08}}};
constexpr double kStepDecay = 0.95;
// Passes without a better choice that end a cycle, and from when on the next one begins with the
// best.
constexpr std::uint64_t kStrictPasses = 20;
constexpr double kGiveUp = 1.02;
// How far a price follows what a byte would have been worth.
constexpr double kPriceStep = 0.1;
constexpr double kPriceDecay = 0.97;
// Room, relative to the limit, from which on a price falls.
constexpr double kRoom = 0.002;
// Of what an arm gained per batch, and the share of blocks that every arm gets.
constexpr double kForget = 0.98;
constexpr double kLeastShare = 0.03;
constexpr std::size_t kMaxArms = 24;
// Entries of a table of the elimination.
constexpr std::size_t kMaxTable = 20000;
constexpr std::size_t kLargeTable = 300000;

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
                         unsigned workers, LocalSearchOptions options)
    : graph_(graph), options_(std::move(options)), picker_(graph), state_(graph) {
  if (!options_.prices.empty()) {
    state_.prices = graph.at_kept_times(options_.prices);
    state_.update_priced();
  }
  state_.set_choice(choice);
  cost_ = best_cost_ = total_cost(graph, choice);
  best_.assign(choice.begin(), choice.end());
  best_prices_ = state_.prices;
  if (!options_.relaxed_start.empty()) {
    state_.set_choice(options_.relaxed_start);
    cost_ = total_cost(graph, options_.relaxed_start);
  }
  candidates_.resize(kBlocks);
  for (unsigned w = 0; w < workers; ++w) {
    workers_.push_back(std::make_unique<Worker>(graph, kMaxTable));
  }
  // Until something is known, as if all gained the same and large blocks took long.
  const auto add_arm = [&](BlockKind kind, std::uint32_t size, std::size_t max_table) {
    arms_.push_back({{kind, size, max_table}, 1.0, static_cast<double>(size * max_table)});
  };
  for (const std::uint32_t size : {8U, 30U, 100U, 300U}) {
    add_arm(BlockKind::kBall, size, kMaxTable);
    add_arm(BlockKind::kWindow, size, kMaxTable);
    if (!graph.holders().empty()) add_arm(BlockKind::kHolders, size, kMaxTable);
  }
  add_arm(BlockKind::kBall, 1000, kLargeTable);
  add_arm(BlockKind::kFollow, 30, kMaxTable);
  for (const std::uint32_t size : {10U, 40U, 150U}) {
    add_arm(BlockKind::kStiff, size, kMaxTable);
    add_arm(BlockKind::kStiff, size, kLargeTable);
  }
  stamp_.assign(graph.num_nodes(), 0);
  steps_left_ = kFirstCycles[0].steps;
  step_ = kFirstCycles[0].step;
  if (options_.descent_passes > 0) phase_ = Phase::kStrict;
  phase_best_ = best_cost_;
}

void LocalSearch::offer(std::span<const std::uint32_t> choice) {
  const double cost = total_cost(graph_, choice);
  if (cost >= best_cost_) return;
  best_cost_ = cost_ = cost;
  best_.assign(choice.begin(), choice.end());
  best_prices_ = state_.prices;
  state_.set_choice(choice);
}

std::size_t LocalSearch::propose(std::size_t, const Budget&) {
  if (graph_.num_nodes() == 0 || batches_without_better_ >= options_.patience) return 0;
  if (options_.descent_passes > 0 && all_passes_ >= options_.descent_passes) return 0;
  double sum = 0;
  for (const Arm& arm : arms_)
    sum += arm.reward / arm.work;
  std::array<double, kMaxArms> share{};
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    const double rate = sum > 0 ? arms_[a].reward / arms_[a].work / sum : 0.0;
    share[a] = (a > 0 ? share[a - 1] : 0.0) + std::max(rate, kLeastShare);
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    Candidate& candidate = candidates_[i];
    candidate.key = RandomGenerator::bits_at(options_.seed, batch_ * kBlocks + i);
    RandomGenerator random(candidate.key);
    const double point = random.fraction() * share[arms_.size() - 1];
    candidate.arm = 0;
    while (candidate.arm + 1 < arms_.size() && share[candidate.arm] <= point)
      ++candidate.arm;
  }
  ++batch_;
  return kBlocks;
}

void LocalSearch::evaluate(std::size_t, unsigned worker, std::size_t begin, std::size_t end,
                           const Budget&) {
  Worker& own = *workers_[worker];
  for (std::size_t i = begin; i < end; ++i) {
    Candidate& candidate = candidates_[i];
    const BlockShape& shape = arms_[candidate.arm].shape;
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

// Costs of the nodes that change and of their pairs, plain and priced.
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
  Arm& arm = arms_[candidate.arm];
  const bool within = phase_ == Phase::kRelaxed ||
                      state_.profile.max_excess() <= std::max<std::int64_t>(excess_before, 0);
  if (new_priced < priced && within) {
    cost_ += new_plain - plain;
    arm.reward += priced - new_priced;
  } else {
    exchange();
  }
  for (const ChoiceChange& change : changes)
    stamp_[change.node] = 0;
}

bool LocalSearch::synchronize(std::size_t, Budget& budget) {
  for (Arm& arm : arms_) {
    arm.reward *= kForget;
    arm.work *= kForget;
  }
  for (Candidate& candidate : candidates_) {
    const BlockSolver::Outcome& outcome = candidate.outcome;
    budget.spend(outcome.work + 1);
    arms_[candidate.arm].work += static_cast<double>(outcome.work) + 1;
    nodes_seen_ += candidate.size;
    if (outcome.blocked) {
      state_.prices[outcome.blocked_at] += kPriceStep * outcome.gain_per_byte;
    }
    if (outcome.improved) apply(candidate);
  }
  ++batches_without_better_;
  if (state_.profile.max_excess() <= 0) {
    if (cost_ < best_cost_) {
      batches_without_better_ = 0;
      best_cost_ = cost_;
      best_ = state_.choice;
      best_prices_ = state_.prices;
    }
    if (phase_ == Phase::kStrict && cost_ < phase_best_) {
      if (cost_ < phase_best_ * (1 - 1e-5)) passes_ = 0;
      phase_best_ = cost_;
    }
  }
  if (nodes_seen_ >= graph_.num_nodes()) {
    nodes_seen_ = 0;
    ++passes_;
    ++all_passes_;
    move_on();
  }
  return true;
}

// After about one pass over all nodes.
void LocalSearch::move_on() {
  switch (phase_) {
    case Phase::kRelaxed:
      if (steps_left_-- > 0) {
        step_prices();
      } else {
        phase_ = Phase::kRepair;
      }
      break;
    case Phase::kRepair:
      if (state_.profile.max_excess() > 0) {
        raise_exceeded();
      } else {
        phase_ = Phase::kStrict;
        passes_ = 0;
        phase_best_ = cost_;
      }
      break;
    case Phase::kStrict:
      relax_prices();
      if (passes_ > kStrictPasses) begin_relaxed();
      break;
  }
  state_.update_priced();
}

void LocalSearch::begin_relaxed() {
  if (cost_ > kGiveUp * best_cost_) {
    state_.set_choice(best_);
    cost_ = best_cost_;
    state_.prices = best_prices_;
  }
  phase_ = Phase::kRelaxed;
  ++cycle_;
  const Relaxation& relaxation = cycle_ < kFirstCycles.size()
                                     ? kFirstCycles[cycle_]
                                     : kLaterCycles[cycle_ % kLaterCycles.size()];
  steps_left_ = relaxation.steps;
  step_ = relaxation.step;
}

// A subgradient step over the priced time points and the worst of each run that is exceeded.
void LocalSearch::step_prices() {
  const std::vector<std::int64_t> excess = state_.excess();
  double squares = 0;
  std::vector<std::uint32_t> times;
  for (std::uint32_t t = 0; t < excess.size(); ++t) {
    if (excess[t] > 0) {
      std::uint32_t peak = t;
      while (t + 1 < excess.size() && excess[t + 1] > 0) {
        ++t;
        if (excess[t] > excess[peak]) peak = t;
      }
      times.push_back(peak);
    } else if (state_.prices[t] > 0) {
      times.push_back(t);
    }
  }
  for (const std::uint32_t t : times) {
    const double by = static_cast<double>(excess[t]);
    squares += by * by;
  }
  if (squares == 0) return;
  const double factor = step_ * cost_ / squares;
  for (const std::uint32_t t : times) {
    double& price = state_.prices[t];
    price = std::max(0.0, price + factor * static_cast<double>(excess[t]));
  }
  step_ *= kStepDecay;
}

void LocalSearch::raise_exceeded() {
  const std::vector<std::int64_t> excess = state_.excess();
  double largest = 0;
  for (const double price : state_.prices)
    largest = std::max(largest, price);
  for (std::size_t t = 0; t < excess.size(); ++t) {
    if (excess[t] <= 0) continue;
    std::size_t peak = t;
    while (t + 1 < excess.size() && excess[t + 1] > 0) {
      ++t;
      if (excess[t] > excess[peak]) peak = t;
    }
    double& price = state_.prices[peak];
    price += std::max(0.2 * price, 0.05 * largest);
  }
}

void LocalSearch::relax_prices() {
  const std::vector<std::int64_t> excess = state_.excess();
  const auto limits = graph_.limits();
  for (std::size_t t = 0; t < excess.size(); ++t) {
    if (state_.prices[t] > 0 &&
        static_cast<double>(-excess[t]) > kRoom * static_cast<double>(limits[t])) {
      state_.prices[t] *= kPriceDecay;
    }
  }
}

}  // namespace shardwright::operators
