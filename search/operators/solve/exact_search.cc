#include "search/operators/solve/exact_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "search/operators/solve/label_search.h"
#include "search/operators/solve/memory_prices.h"

namespace shardwright::operators {
namespace {

// Limit of the relative error between sums of the same costs in different orders.
inline constexpr double kCostRounding = 1e-11;

void keep_if_better(const CostInstance& instance, std::vector<std::uint32_t> choice,
                    ExactResult& result) {
  const CostEvaluation evaluation = evaluate(instance, choice);
  if (!evaluation.feasible() || evaluation.total() >= result.cost) return;
  result.choice = std::move(choice);
  result.cost = evaluation.total();
}

// Finds the cheapest choice below the cutoff that is within the limits of the time points with
// prices. `choice` is empty if there is none. The cutoff of the label search rises in steps from
// the bound to `cutoff`. The first step is `step`. The bound of the result rises with the cutoff.
// Returns false if the label search gives up.
bool search_in_steps(const CostInstance& instance, LabelSearch& labels,
                     const LabelParameters& parameters, double bound, double step, double cutoff,
                     Budget& budget, ExactResult& result, std::vector<std::uint32_t>& choice) {
  for (;;) {
    choice.clear();
    const double limit = std::min(bound + step, cutoff);
    const bool last = limit == cutoff;
    const LabelSearch::End end = labels.run(limit, budget);
    if (end == LabelSearch::End::kGivenUp) return false;
    if (end == LabelSearch::End::kFound) {
      keep_if_better(instance, labels.choice(), result);
      if (labels.cost() < limit) {
        choice = labels.choice();
        return true;
      }
      cutoff = std::min(cutoff, labels.cost() * (1 + 2 * kCostRounding));
    }
    result.lower_bound = std::max(result.lower_bound, limit);
    if (last) return true;
    step *= parameters.step_growth;
  }
}

// A group of nodes in which CardinalityBranching limits a count: the number of nodes with a heavy
// strategy. The nodes' strategies hold the same bytes, or have the same costs and bytes.
// Thread safety: a value.
struct CardinalityRow {
  std::uint32_t nodes = 0;
  std::vector<std::int64_t> bytes;   // of a heavy less a light strategy, by priced time point
  std::int64_t unit = 1;             // weight of a node: priced `bytes` / sum of the prices
  std::vector<std::uint32_t> heavy;  // flat indices of strategies
  // By flat strategy: `unit` for heavy (other_weights: light) strategies of the group, otherwise 0.
  std::shared_ptr<const std::vector<std::int64_t>> weights, other_weights;
};

// What a strategy holds at the time points with prices, beyond the node's lightest strategy.
using Held = std::vector<std::int64_t>;

struct Heaviness {
  double worth = 0;
  Held held;
};

std::vector<Heaviness> heaviness(const BucketTree& tree, const MemoryPrices& memory,
                                 std::uint32_t node) {
  std::vector<Heaviness> all(tree.instance().num_strategies(node));
  for (std::uint32_t s = 0; s < all.size(); ++s) {
    for (std::size_t row = 0; row < memory.times().size(); ++row) {
      all[s].held.push_back(memory.bytes(row, node, s));
      all[s].worth += memory.prices()[row] * static_cast<double>(all[s].held.back());
    }
  }
  const Heaviness lightest =
      *std::min_element(all.begin(), all.end(), [](const Heaviness& a, const Heaviness& b) {
        return std::tie(a.worth, a.held) < std::tie(b.worth, b.held);
      });
  for (Heaviness& each : all) {
    each.worth -= lightest.worth;
    for (std::size_t row = 0; row < each.held.size(); ++row)
      each.held[row] -= lightest.held[row];
  }
  return all;
}

// Returns all counts of the tree's instance. A strategy is heavy if the price of its bytes reaches
// a level. Every difference between the strategies of a group gives one such level.
std::vector<CardinalityRow> cardinality_rows(const BucketTree& tree, const MemoryPrices& memory) {
  const CostInstance& instance = tree.instance();
  double price = 0;
  for (std::size_t row = 0; row < memory.times().size(); ++row)
    price += memory.prices()[row];
  if (!(price > 0)) return {};
  // Nodes with equal bytes of their strategies, and with equal costs unless these are left empty.
  using Group = std::pair<std::vector<double>, std::vector<Held>>;
  std::map<Group, std::vector<std::uint32_t>> groups;
  std::vector<std::vector<Heaviness>> by_node;
  for (std::uint32_t node = 0; node < instance.num_nodes(); ++node) {
    by_node.push_back(heaviness(tree, memory, node));
    std::vector<Held> held;
    for (const Heaviness& each : by_node.back())
      held.push_back(each.held);
    const auto costs = instance.costs(node);
    groups[{{costs.begin(), costs.end()}, held}].push_back(node);
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    groups[Group(std::vector<double>(), std::move(held))].push_back(node);
  }
  std::vector<CardinalityRow> counts;
  for (const auto& [key, nodes] : groups) {
    std::vector<Heaviness> levels = by_node[nodes.front()];
    std::sort(levels.begin(), levels.end(), [](const Heaviness& a, const Heaviness& b) {
      return std::tie(a.worth, a.held) < std::tie(b.worth, b.held);
    });
    for (std::size_t i = 1; i < levels.size(); ++i) {
      if (levels[i].worth == levels[i - 1].worth) continue;
      CardinalityRow& count = counts.emplace_back();
      count.nodes = static_cast<std::uint32_t>(nodes.size());
      for (std::size_t row = 0; row < levels[i].held.size(); ++row)
        count.bytes.push_back(levels[i].held[row] - levels[i - 1].held[row]);
      count.unit =
          std::max<std::int64_t>(1, std::llround((levels[i].worth - levels[i - 1].worth) / price));
      std::vector<std::int64_t> weights(tree.num_costs(), 0);
      std::vector<std::int64_t> others(tree.num_costs(), 0);
      for (const std::uint32_t node : nodes) {
        for (std::uint32_t s = 0; s < by_node[node].size(); ++s) {
          const auto at = static_cast<std::uint32_t>(tree.first_cost(node) + s);
          const bool is_heavy = by_node[node][s].worth >= levels[i].worth;
          (is_heavy ? weights : others)[at] = count.unit;
          if (is_heavy) count.heavy.push_back(at);
        }
      }
      count.weights = std::make_shared<const std::vector<std::int64_t>>(std::move(weights));
      count.other_weights = std::make_shared<const std::vector<std::int64_t>>(std::move(others));
    }
  }
  return counts;
}

// Branch and bound on counts. If memory binds, prices alone leave a gap: at the best prices, equal
// nodes are all heavy or all light, so the bound belongs to a fractional number of heavy nodes. A
// division makes two subproblems, called parts. One limits the count from above, the other from
// below, and both limits have prices. Branching on a single node would not help, since an equal
// node would take its place. Bounds or a LabelSearch close the parts.
// Thread safety: one thread at a time.
class CardinalityBranching {
 public:
  // `known` has the best choice so far and receives better ones. `memory` has the prices of the
  // first part. Lists have at most `max_labels` partial choices.
  CardinalityBranching(const BucketTree& tree, const MemoryPrices& memory, ExactResult& known,
                       std::size_t max_labels, const ExactParameters& parameters)
      : tree_(&tree),
        known_(&known),
        parameters_(&parameters),
        max_labels_(max_labels),
        times_(memory.times()),
        counts_(cardinality_rows(tree, memory)) {
    open_.push_back({{},
                     memory.prices(),
                     memory.bound(),
                     std::min(max_labels_, parameters.counts.first_labels)});
  }

  // Raises the bound of `known`. Ends when the choice is proved, which sets known.finished, when
  // nothing can be divided, when the budget ends, or when there are too many parts. Work is counted
  // as in LabelSearch and MemoryPrices.
  void run(Budget& budget) {
    for (std::size_t parts = 0; !open_.empty(); ++parts) {
      known_->lower_bound = std::max(known_->lower_bound, least_bound());
      if (parts == parameters_->counts.most_parts || budget.interrupted() || !budget.work_left())
        return;
      const auto at =
          std::min_element(open_.begin(), open_.end(),
                           [](const Part& a, const Part& b) { return a.bound < b.bound; });
      Part part = std::move(*at);
      open_.erase(at);
      close_or_divide(std::move(part), budget);
    }
    known_->lower_bound = std::max(known_->lower_bound, least_bound());
    known_->finished = undivided_ >= known_->cost;
  }

 private:
  struct Limit {
    std::uint32_t count = 0;  // index into counts_
    bool is_least = false;    // a lower limit of the count; false: an upper limit
    std::int64_t nodes = 0;
    double price = 0;
  };

  struct Fraction {
    std::uint32_t count = 0;  // index into counts_
    double mean = 0;
  };

  struct Part {
    std::vector<Limit> limits;
    std::vector<double> prices;  // by index of times_; 0 beyond the end
    double bound = 0;
    std::size_t labels = 0;  // limit of the labels
  };

  void close_or_divide(Part part, Budget& budget) {
    const CountParameters& parameters = parameters_->counts;
    const double before = part.bound;
    MemoryPrices memory = price(part, budget);
    take_over(memory, part);
    if (part.bound >= known_->cost * (1 - kCostRounding)) return;
    const bool is_gain = part.bound - before >= parameters.least_gain * (known_->cost - before);
    if (!part.limits.empty() && !is_gain)
      part.labels = std::min(part.labels * parameters.labels_growth, max_labels_);
    if (search_labels(part, memory, budget) || divide(part, memory)) return;
    if (part.labels == max_labels_) {
      undivided_ = std::min(undivided_, part.bound);
      return;
    }
    part.labels = max_labels_;
    add(std::move(part));
  }

  // Finds the best prices of the part, starting from the prices of its parent.
  MemoryPrices price(Part& part, Budget& budget) {
    MemoryPrices memory(*tree_, *known_, {}, parameters_->memory_prices);
    part.prices.resize(times_.size(), 0);
    for (std::size_t i = 0; i < times_.size(); ++i)
      memory.add(times_[i], part.prices[i]);
    for (const Limit& limit : part.limits)
      memory.add(weight_limit(limit), limit.price);
    memory.raise(budget);
    return memory;
  }

  // Returns true if labels close the part, or if it is open again with more time points.
  bool search_labels(Part& part, MemoryPrices& memory, Budget& budget) {
    LabelSearch labels(*tree_, memory, part.labels, parameters_->labels);
    std::vector<std::uint32_t> choice;
    const double cutoff = known_->cost * (1 - kCostRounding);
    const double step = std::min((cutoff - part.bound) / parameters_->labels.first_step_parts,
                                 parameters_->counts.first_step * std::abs(part.bound));
    // A bound by labels ignores time points without prices. They may get prices later, so the bound
    // is kept apart from that of `known`.
    ExactResult own;
    own.choice = known_->choice;
    own.cost = known_->cost;
    const bool complete =
        search_in_steps(tree_->instance(), labels, parameters_->labels, part.bound,
                        std::max(step, kCostRounding * cutoff), cutoff, budget, own, choice);
    if (own.cost < known_->cost) {
      known_->cost = own.cost;
      known_->choice = own.choice;
    }
    if (!complete) return false;
    if (choice.empty() || evaluate(tree_->instance(), choice).feasible()) {
      listed_.push_back(std::move(part));
      return true;
    }
    if (!memory.take_in(choice)) return false;
    take_over(memory, part);
    add(std::move(part));
    return true;
  }

  // Returns the count whose mean over cheapest choices is farthest, in price, from a whole number.
  std::optional<Fraction> fraction(const Part& part, const MemoryPrices& memory) const {
    const std::vector<double> mean = memory.mean();
    std::optional<Fraction> best;
    double best_score = kCostRounding * std::abs(part.bound);
    for (std::uint32_t c = 0; c < counts_.size(); ++c) {
      double sum = 0;
      for (const std::uint32_t s : counts_[c].heavy)
        sum += mean[s];
      const bool is_known =
          std::any_of(part.limits.begin(), part.limits.end(), [&](const Limit& limit) {
            const auto nodes = static_cast<double>(limit.nodes);
            return limit.count == c && (limit.is_least ? sum <= nodes : sum >= nodes);
          });
      if (is_known) continue;
      double worth = 0;
      for (std::size_t row = 0; row < counts_[c].bytes.size(); ++row)
        worth += memory.prices()[row] * static_cast<double>(counts_[c].bytes[row]);
      const double score = worth * std::min(sum - std::floor(sum), std::ceil(sum) - sum);
      if (score <= best_score) continue;
      best_score = score;
      best = Fraction{c, sum};
    }
    return best;
  }

  // Takes over bound and prices of the part. If more time points have prices now, reopens the parts
  // that labels closed, since their lists compared bytes at fewer time points.
  void take_over(const MemoryPrices& memory, Part& part) {
    part.bound = std::max(part.bound, memory.bound());
    const std::size_t times = memory.times().size();
    part.prices.assign(memory.prices().begin(),
                       memory.prices().begin() + static_cast<std::ptrdiff_t>(times));
    for (std::size_t i = 0; i < part.limits.size(); ++i)
      part.limits[i].price = memory.prices()[times + i];
    if (times == times_.size()) return;
    times_ = memory.times();
    for (Part& each : std::exchange(listed_, {}))
      add(std::move(each));
  }

  // Returns false if no count can be divided.
  bool divide(const Part& part, const MemoryPrices& memory) {
    const std::optional<Fraction> by = fraction(part, memory);
    if (!by) return false;
    for (const bool is_least : {false, true}) {
      const double nodes = is_least ? std::ceil(by->mean) : std::floor(by->mean);
      const Limit limit{by->count, is_least, static_cast<std::int64_t>(nodes), 0};
      Part child = part;
      const auto same =
          std::find_if(child.limits.begin(), child.limits.end(), [&](const Limit& other) {
            return other.count == limit.count && other.is_least == limit.is_least;
          });
      if (same != child.limits.end()) {
        same->nodes = limit.nodes;
      } else {
        child.limits.push_back(limit);
      }
      add(std::move(child));
    }
    return true;
  }

  void add(Part part) {
    if (part.bound < known_->cost) open_.push_back(std::move(part));
  }

  WeightLimit weight_limit(const Limit& limit) const {
    const CardinalityRow& count = counts_[limit.count];
    if (limit.is_least) return {count.other_weights, (count.nodes - limit.nodes) * count.unit};
    return {count.weights, limit.nodes * count.unit};
  }

  double least_bound() const {
    double least = std::min(undivided_, known_->cost);
    for (const Part& part : open_)
      least = std::min(least, part.bound);
    return least;
  }

  const BucketTree* tree_;
  ExactResult* known_;
  const ExactParameters* parameters_;
  std::size_t max_labels_;
  std::vector<std::uint32_t> times_;  // time points with a price in any part
  std::vector<CardinalityRow> counts_;
  std::vector<Part> open_;
  std::vector<Part> listed_;       // parts closed by labels at times_
  double undivided_ = kForbidden;  // least bound of the parts that were given up
};

// Returns a cost that no feasible choice exceeds.
double dearest(const CostInstance& instance) {
  const auto largest = [](std::span<const double> costs) {
    double most = 0;
    for (const double cost : costs) {
      if (cost < kForbidden) most = std::max(most, cost);
    }
    return most;
  };
  double sum = 0;
  for (std::size_t node = 0; node < instance.num_nodes(); ++node)
    sum += largest(instance.costs(node));
  for (const CostInstance::Edge& edge : instance.edges())
    sum += largest(instance.matrix(edge));
  return sum;
}

}  // namespace

ExactResult search_exactly(const BucketTree& tree, const KnownSolution& known,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters) {
  const CostInstance& instance = tree.instance();
  ExactResult result;
  result.choice = known.choice;
  result.cost = std::min(known.cost, dearest(instance) * (1 + kCostRounding) + 1);
  MemoryPrices prices(tree, result, known.prices, parameters.memory_prices);
  while (!budget.interrupted()) {
    prices.raise(budget);
    result.lower_bound = std::max(result.lower_bound, std::min(prices.bound(), result.cost));
    const double cutoff = result.cost * (1 - kCostRounding);
    result.finished = prices.bound() >= cutoff;
    if (result.finished || budget.interrupted()) break;
    if (parameters.counts.most_parts > 0 && prices.num_rows() > 0) {
      CardinalityBranching(tree, prices, result, max_labels, parameters).run(budget);
      break;
    }
    LabelSearch labels(tree, prices, max_labels, parameters.labels);
    std::vector<std::uint32_t> choice;
    const double step = (cutoff - prices.bound()) / parameters.labels.first_step_parts;
    const bool complete = search_in_steps(instance, labels, parameters.labels, prices.bound(), step,
                                          cutoff, budget, result, choice);
    if (!complete) break;
    if (choice.empty()) {
      result.finished = true;
      result.lower_bound = result.cost;
      break;
    }
    const CostEvaluation evaluation = evaluate(instance, choice);
    // `choice` is the cheapest choice under some of the limits, so its cost is a bound. It is
    // optimal if it keeps all limits.
    result.lower_bound = std::max(result.lower_bound, evaluation.total() * (1 - kCostRounding));
    if (evaluation.feasible()) {
      result.choice = choice;
      result.cost = evaluation.total();
      result.lower_bound = result.cost;
      result.finished = true;
      break;
    }
    if (!prices.take_in(choice)) break;
  }
  result.prices.assign(instance.limits().size(), 0);
  for (std::size_t i = 0; i < prices.times().size(); ++i)
    result.prices[prices.times()[i]] = prices.prices()[i];
  if (!result.choice) result.cost = kForbidden;
  if (result.finished && !result.choice) result.lower_bound = known.cost;
  return result;
}

}  // namespace shardwright::operators
