#include "search/operators/solve/exact/memory_prices.h"

#include <algorithm>
#include <cmath>

namespace shardwright::operators {

MemoryPrices::MemoryPrices(const BucketTree& tree, ExactResult& best,
                           const MemoryPriceParameters& parameters)
    : tree_(&tree), best_(&best), parameters_(parameters), tables_(tree) {}

std::int64_t MemoryPrices::bytes(std::size_t i, std::uint32_t node, std::uint32_t strategy) const {
  return bytes_[i][tree_->first_cost(node) + strategy];
}

std::vector<double> MemoryPrices::priced_costs(std::span<const double> prices) const {
  const CostInstance& instance = tree_->instance();
  std::vector<double> costs;
  costs.reserve(tree_->num_costs());
  for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
    const auto own = instance.costs(node);
    costs.insert(costs.end(), own.begin(), own.end());
  }
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (prices[i] == 0) continue;
    for (std::size_t s = 0; s < costs.size(); ++s) {
      costs[s] += prices[i] * static_cast<double>(bytes_[i][s]);
    }
  }
  return costs;
}

double MemoryPrices::granted(std::span<const double> prices) const {
  double sum = 0;
  for (std::size_t i = 0; i < times_.size(); ++i)
    sum += prices[i] * static_cast<double>(limit(i));
  return sum;
}

// Returns the least priced cost, a lower bound, and a choice that has it.
double MemoryPrices::evaluate(std::span<const double> prices, std::vector<std::uint32_t>& choice) {
  const std::vector<double> costs = priced_costs(prices);
  const double bound = tables_.minimize(costs, choice) - granted(prices);
  if (bound > bound_ || best_prices_.size() < times_.size()) {
    bound_ = std::max(bound_, bound);
    best_prices_.assign(prices.begin(), prices.end());
  }
  return bound;
}

// Keeps the choice if it is within all limits and cheaper than the best.
void MemoryPrices::offer(const std::vector<std::uint32_t>& choice) {
  const CostEvaluation evaluation = operators::evaluate(tree_->instance(), choice);
  if (!evaluation.feasible() || evaluation.total() >= best_->cost) return;
  best_->cost = evaluation.total();
  best_->choice = choice;
}

bool MemoryPrices::take_in(std::span<const std::uint32_t> choice) {
  const CostInstance& instance = tree_->instance();
  const std::size_t size = instance.limits().size();
  const std::vector<std::int64_t> held = held_bytes(instance, choice);
  std::vector<std::pair<std::int64_t, std::uint32_t>> over;
  for (std::uint32_t t = 0; t < size; ++t) {
    if (held[t] > instance.limits()[t]) over.emplace_back(instance.limits()[t] - held[t], t);
  }
  std::sort(over.begin(), over.end());
  bool any = false;
  std::vector<std::uint32_t> near;
  for (const auto& [excess, time] : over) {
    if (std::find(times_.begin(), times_.end(), time) != times_.end()) continue;
    // Neighbouring time points hold much the same; one of them will do for now.
    const auto distance = static_cast<std::uint32_t>(size / parameters_.stretches);
    const std::uint32_t at = time;
    if (std::any_of(near.begin(), near.end(), [&](std::uint32_t other) {
          return (other > at ? other - at : at - other) <= distance;
        })) {
      continue;
    }
    near.push_back(time);
    times_.push_back(time);
    auto& bytes = bytes_.emplace_back(tree_->num_costs(), 0);
    for (std::uint32_t node = 0; node < instance.num_nodes(); ++node) {
      for (const CostInstance::Usage& usage : instance.usages(node)) {
        if (time < usage.live.begin || time >= usage.live.end) continue;
        for (std::uint32_t s = 0; s < instance.num_strategies(node); ++s) {
          bytes[tree_->first_cost(node) + s] += instance.bytes(usage, s);
        }
      }
    }
    best_prices_.push_back(0);
    any = true;
    if (near.size() == parameters_.times_at_once) break;
  }
  return any;
}

std::vector<double> MemoryPrices::excess(std::span<const std::uint32_t> choice) const {
  std::vector<double> excess;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    std::int64_t held = -limit(i);
    for (std::uint32_t node = 0; node < choice.size(); ++node)
      held += bytes(i, node, choice[node]);
    excess.push_back(static_cast<double>(held));
  }
  return excess;
}

void MemoryPrices::raise(Budget& budget) {
  std::vector<std::uint32_t> choice;
  if (times_.empty()) {
    best_prices_.clear();
    evaluate(best_prices_, choice);
    budget.spend(tree_->num_costs());
    offer(choice);
    if (bound_ == kForbidden || !take_in(choice)) return;
  }
  if (times_.size() == 1) {
    raise_single(budget);
    if (times_.size() == 1) return;  // the best single price is known
  }
  raise_all(budget);
}

// The bound is concave and piecewise linear in one price. Each choice gives a line; the lines of a
// choice over and one under the limit meet at the next price to try. Ends at the maximum, or when
// another time point is added.
void MemoryPrices::raise_single(Budget& budget) {
  std::vector<std::uint32_t> choice;
  double over_cost = 0;
  double over_bytes = 0;
  bool have_under = false;
  double under_cost = 0;
  double under_bytes = 0;
  std::vector<double> price{0};
  for (int i = 0; i < parameters_.most_single_steps && !budget.interrupted(); ++i) {
    evaluate(price, choice);
    offer(choice);
    budget.spend(tree_->num_costs());
    const double bytes = excess(choice)[0];
    const double cost = operators::evaluate(tree_->instance(), choice).total();
    if (bytes <= 0 && take_in(choice)) return;
    if (bytes > 0) {
      if (i > 0 && have_under && cost == over_cost && bytes == over_bytes) return;
      over_cost = cost;
      over_bytes = bytes;
    } else {
      if (have_under && cost == under_cost && bytes == under_bytes) return;
      have_under = true;
      under_cost = cost;
      under_bytes = bytes;
      if (price[0] == 0) return;
    }
    if (have_under) {
      price[0] = (under_cost - over_cost) / (over_bytes - under_bytes);
    } else {
      if (bound_ > best_->cost) return;  // even the lightest choice exceeds the limit
      price[0] = std::max(price[0] * parameters_.price_growth,
                          parameters_.first_price * std::max(over_cost, 1.0) / over_bytes);
    }
  }
}

// Subgradient steps towards the best known cost (Polyak), shortened when the bound stops rising.
void MemoryPrices::raise_all(Budget& budget) {
  std::vector<std::uint32_t> choice;
  std::vector<double> prices = best_prices_;
  prices.resize(times_.size(), 0);
  double scale = 1;
  int idle = 0;
  for (int i = 0; i < parameters_.most_steps && scale > parameters_.least_step; ++i) {
    if (budget.interrupted()) return;
    const double before = bound_;
    const double bound = evaluate(prices, choice);
    budget.spend(tree_->num_costs());
    offer(choice);
    if (take_in(choice)) prices.resize(times_.size(), 0);
    if (bound_ >= best_->cost) return;
    const std::vector<double> over = excess(choice);
    double norm = 0;
    for (std::size_t k = 0; k < over.size(); ++k) {
      if (over[k] > 0 || prices[k] > 0) norm += over[k] * over[k];
    }
    if (norm == 0) return;  // the choice is optimal for these time points
    idle = bound_ > before * (1 + 1e-9) ? 0 : idle + 1;
    if (idle >= parameters_.patience) {
      scale /= 2;
      idle = 0;
      prices = best_prices_;
      prices.resize(times_.size(), 0);
      continue;
    }
    const double blind = bound + std::max(std::abs(bound) * parameters_.blind_target, 1.0);
    const double target = best_->cost < kForbidden ? best_->cost : blind;
    const double step = scale * std::max(target - bound, std::abs(target) * 1e-9) / norm;
    for (std::size_t k = 0; k < over.size(); ++k) {
      prices[k] = std::max(0.0, prices[k] + step * over[k]);
    }
  }
}

}  // namespace shardwright::operators
