#include "search/operators/solve/local/first_feasible.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "search/operators/solve/local/choice_graph.h"
#include "search/random.h"

namespace shardwright::operators {
namespace {

// Thread safety: one thread at a time.
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
  // By time point, the bytes of the lightest strategies left as a part of the limit.
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
      // Rounding must not hide an excess.
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
          // Goes on, so that one restart learns of all nodes that fail.
          complete = false;
        }
        if (budget_.interrupted()) return false;
      }
      if (complete) return true;
      ++restarts_;
    }
    return false;
  }

  // What the removals since `mark` add to the least weights of the nodes.
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
      // Consequences only add weight, so no later candidate can be the least.
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
  std::size_t consistent_ = 0;      // removals that hold for every choice
  std::vector<double> importance_;  // of a byte, by time point; 1 = the most important
  std::vector<double> weight_;      // of the bytes held, by strategy
  std::vector<double> spread_;      // between the heaviest and the lightest, by node
  std::vector<double> least_;       // weight of the lightest strategy left, by node
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

}  // namespace shardwright::operators
