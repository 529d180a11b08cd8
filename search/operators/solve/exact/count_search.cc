#include "search/operators/solve/exact/count_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "search/operators/solve/exact/label_steps.h"

namespace shardwright::operators {
namespace {

// What a strategy holds at the time points with prices, beyond the lightest one of its node.
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

}  // namespace

std::vector<HeavyCount> heavy_counts(const BucketTree& tree, const MemoryPrices& memory) {
  const CostInstance& instance = tree.instance();
  double price = 0;
  for (std::size_t row = 0; row < memory.times().size(); ++row)
    price += memory.prices()[row];
  if (!(price > 0)) return {};
  // By costs, none where they do not matter, and by what is held.
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
  std::vector<HeavyCount> counts;
  for (const auto& [key, nodes] : groups) {
    std::vector<Heaviness> levels = by_node[nodes.front()];
    std::sort(levels.begin(), levels.end(), [](const Heaviness& a, const Heaviness& b) {
      return std::tie(a.worth, a.held) < std::tie(b.worth, b.held);
    });
    for (std::size_t i = 1; i < levels.size(); ++i) {
      if (levels[i].worth == levels[i - 1].worth) continue;
      HeavyCount& count = counts.emplace_back();
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

CountSearch::CountSearch(const BucketTree& tree, const MemoryPrices& memory, ExactResult& known,
                         std::size_t max_labels, const ExactParameters& parameters)
    : tree_(&tree),
      known_(&known),
      parameters_(&parameters),
      max_labels_(max_labels),
      times_(memory.times()),
      counts_(heavy_counts(tree, memory)) {
  open_.push_back(
      {{}, memory.prices(), memory.bound(), std::min(max_labels_, parameters.counts.first_labels)});
}

double CountSearch::least_bound() const {
  double least = std::min(undivided_, known_->cost);
  for (const Part& part : open_)
    least = std::min(least, part.bound);
  return least;
}

void CountSearch::run(Budget& budget) {
  for (std::size_t parts = 0; !open_.empty(); ++parts) {
    known_->lower_bound = std::max(known_->lower_bound, least_bound());
    if (parts == parameters_->counts.most_parts || budget.interrupted() || !budget.work_left())
      return;
    const auto at = std::min_element(
        open_.begin(), open_.end(), [](const Part& a, const Part& b) { return a.bound < b.bound; });
    Part part = std::move(*at);
    open_.erase(at);
    close_or_divide(std::move(part), budget);
  }
  known_->lower_bound = std::max(known_->lower_bound, least_bound());
  known_->finished = undivided_ >= known_->cost;
}

WeightLimit CountSearch::weight_limit(const Limit& limit) const {
  const HeavyCount& count = counts_[limit.count];
  if (limit.is_least) return {count.other_weights, (count.nodes - limit.nodes) * count.unit};
  return {count.weights, limit.nodes * count.unit};
}

void CountSearch::add(Part part) {
  if (part.bound < known_->cost) open_.push_back(std::move(part));
}

// The best prices of the part, from those of the part that it came from.
MemoryPrices CountSearch::price(Part& part, Budget& budget) {
  MemoryPrices memory(*tree_, *known_, {}, parameters_->memory_prices);
  part.prices.resize(times_.size(), 0);
  for (std::size_t i = 0; i < times_.size(); ++i)
    memory.add(times_[i], part.prices[i]);
  for (const Limit& limit : part.limits)
    memory.add(weight_limit(limit), limit.price);
  memory.raise(budget);
  return memory;
}

void CountSearch::close_or_divide(Part part, Budget& budget) {
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

// Lists leave out what is no better within the limits of the time points known then, so they are
// made again where there are more of these.
void CountSearch::take_over(const MemoryPrices& memory, Part& part) {
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

// Returns true if the part is closed, or open again with more time points.
bool CountSearch::search_labels(Part& part, MemoryPrices& memory, Budget& budget) {
  LabelSearch labels(*tree_, memory, part.labels, parameters_->labels);
  std::vector<std::uint32_t> choice;
  const double cutoff = known_->cost * (1 - kCostRounding);
  const double step = std::min((cutoff - part.bound) / parameters_->labels.first_step_parts,
                               parameters_->counts.first_step * std::abs(part.bound));
  // Its bound holds within the limits of these time points alone: there may be more later.
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

// The count that is fractional in the mean of the cheapest choices, and worth most.
std::optional<CountSearch::Fraction> CountSearch::fraction(const Part& part,
                                                           const MemoryPrices& memory) const {
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

// Returns false if no count can be divided.
bool CountSearch::divide(const Part& part, const MemoryPrices& memory) {
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

}  // namespace shardwright::operators
