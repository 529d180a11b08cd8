#include "search/operators/solve/memory_prices.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "search/operators/solve/price_bundle.h"

namespace shardwright::operators {

MemoryPrices::MemoryPrices(const BucketTree& tree, ExactResult& best, std::span<const double> known,
                           const MemoryPriceParameters& parameters)
    : tree_(&tree), best_(&best), parameters_(parameters), tables_(tree) {
  for (std::uint32_t time = 0; time < known.size(); ++time) {
    if (known[time] == 0) continue;
    add(time, known[time]);
  }
}

void MemoryPrices::add(WeightLimit limit, double price) {
  others_.push_back(std::move(limit));
  best_prices_.push_back(price);
}

std::vector<double> MemoryPrices::mean() const {
  std::vector<double> mean(tree_->num_costs(), 0);
  for (const Line& line : lines_) {
    if (line.weight == 0) continue;
    for (std::uint32_t node = 0; node < line.choice.size(); ++node)
      mean[tree_->first_cost(node) + line.choice[node]] += line.weight;
  }
  return mean;
}

std::vector<double> MemoryPrices::priced_costs(std::span<const double> prices) const {
  const CostInstance& instance = tree_->instance();
  std::vector<double> costs;
  costs.reserve(tree_->num_costs());
  for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
    const auto own = instance.costs(node);
    costs.insert(costs.end(), own.begin(), own.end());
  }
  for (std::size_t row = 0; row < num_rows(); ++row) {
    if (prices[row] == 0) continue;
    const std::vector<std::int64_t>& own = weights(row);
    for (std::size_t s = 0; s < costs.size(); ++s)
      costs[s] += prices[row] * static_cast<double>(own[s]);
  }
  return costs;
}

double MemoryPrices::granted(std::span<const double> prices) const {
  double sum = 0;
  for (std::size_t row = 0; row < num_rows(); ++row)
    sum += prices[row] * static_cast<double>(limit(row));
  return sum;
}

double MemoryPrices::Line::at(std::span<const double> prices) const {
  double sum = cost;
  for (std::size_t i = 0; i < excess.size(); ++i)
    sum += prices[i] * excess[i];
  return sum;
}

// Finds a choice of least priced cost. This cost, less granted(), is a lower bound.
MemoryPrices::Line MemoryPrices::evaluate(std::span<const double> prices) {
  const std::vector<double> costs = priced_costs(prices);
  Line line;
  const double bound = tables_.minimize(costs, line.choice) - granted(prices);
  if (bound > bound_ || best_prices_.size() < num_rows()) {
    bound_ = std::max(bound_, bound);
    best_prices_.assign(prices.begin(), prices.end());
  }
  line.cost = operators::evaluate(tree_->instance(), line.choice).total();
  line.excess = excess(line.choice);
  return line;
}

// Keeps the choice if it is within all limits and cheaper than the best choice.
void MemoryPrices::offer(const std::vector<std::uint32_t>& choice) {
  const CostEvaluation evaluation = operators::evaluate(tree_->instance(), choice);
  if (!evaluation.feasible() || evaluation.total() >= best_->cost) return;
  best_->cost = evaluation.total();
  best_->choice = choice;
}

bool MemoryPrices::take_in(std::span<const std::uint32_t> choice) {
  Line line;
  line.choice.assign(choice.begin(), choice.end());
  line.weight = 1;
  return take_in_mean({&line, 1});
}

bool MemoryPrices::take_in_mean(std::span<const Line> lines) {
  const auto limits = tree_->instance().limits();
  std::vector<double> excess;
  for (const std::int64_t limit : limits)
    excess.push_back(-static_cast<double>(limit));
  for (const Line& line : lines) {
    if (line.weight == 0) continue;
    const std::vector<std::int64_t> held = held_bytes(tree_->instance(), line.choice);
    for (std::size_t t = 0; t < held.size(); ++t)
      excess[t] += line.weight * static_cast<double>(held[t]);
  }
  return take_in_worst(excess);
}

bool MemoryPrices::take_in_worst(std::span<const double> excess) {
  // Smaller values are rounding errors of the mean, since excesses of choices are whole bytes.
  constexpr double kRounding = 0.5;
  std::optional<std::uint32_t> worst;
  for (std::uint32_t t = 0; t < excess.size(); ++t) {
    if (excess[t] < kRounding || (worst && excess[t] <= excess[*worst])) continue;
    if (std::find(times_.begin(), times_.end(), t) == times_.end()) worst = t;
  }
  if (worst) add(*worst, 0);
  return worst.has_value();
}

void MemoryPrices::add(std::uint32_t time, double price) {
  const CostInstance& instance = tree_->instance();
  best_prices_.insert(best_prices_.begin() + static_cast<std::ptrdiff_t>(times_.size()), price);
  times_.push_back(time);
  std::vector<std::int64_t>& bytes = bytes_.emplace_back(tree_->num_costs(), 0);
  for (std::uint32_t node = 0; node < instance.num_nodes(); ++node) {
    for (const CostInstance::Usage& usage : instance.usages(node)) {
      if (time < usage.live.begin || time >= usage.live.end) continue;
      for (std::uint32_t s = 0; s < instance.num_strategies(node); ++s)
        bytes[tree_->first_cost(node) + s] += instance.bytes(usage, s);
    }
  }
}

std::vector<double> MemoryPrices::excess(std::span<const std::uint32_t> choice) const {
  std::vector<double> excess;
  for (std::size_t row = 0; row < num_rows(); ++row) {
    std::int64_t held = -limit(row);
    for (std::uint32_t node = 0; node < choice.size(); ++node)
      held += bytes(row, node, choice[node]);
    excess.push_back(static_cast<double>(held));
  }
  return excess;
}

void MemoryPrices::raise(Budget& budget) {
  while (!budget.interrupted()) {
    lines_ = num_rows() == 1 ? raise_single(budget) : raise_several(budget);
    if (bound_ >= best_->cost || !take_in_mean(lines_)) return;
  }
}

// The bound is a concave, piecewise linear function of a single price, and each choice gives a
// line. The next price is where the line of a choice over the limit meets the line of a choice
// under the limit. Returns the two lines that meet at the maximum.
std::vector<MemoryPrices::Line> MemoryPrices::raise_single(Budget& budget) {
  std::optional<Line> over;
  std::optional<Line> under;
  std::vector<double> price = best_prices_;
  double step = price[0] > 0 ? parameters_.known_price_step : parameters_.price_growth;
  for (int i = 0; i < parameters_.most_single_steps && !budget.interrupted(); ++i) {
    Line line = evaluate(price);
    budget.spend(tree_->num_costs());
    if (!(line.cost < kForbidden)) break;
    offer(line.choice);
    std::optional<Line>& side = line.excess[0] > 0 ? over : under;
    const bool known = side && side->cost == line.cost && side->excess == line.excess;
    side = std::move(line);
    if ((known && over && under) || (under && price[0] == 0)) break;
    if (over && under) {
      price[0] = std::max(0.0, (under->cost - over->cost) / (over->excess[0] - under->excess[0]));
    } else if (under) {
      price[0] = step < parameters_.price_growth ? price[0] / step : 0;
    } else {
      if (bound_ > best_->cost) break;  // even the lightest choice exceeds the limit
      price[0] = std::max(price[0] * step,
                          parameters_.first_price * std::max(over->cost, 1.0) / over->excess[0]);
    }
    step = std::min(step * step, parameters_.price_growth);
  }
  std::vector<Line> lines;
  if (over && under) {
    over->weight = -under->excess[0] / (over->excess[0] - under->excess[0]);
    under->weight = 1 - over->weight;
  } else if (under) {
    under->weight = 1;
  }
  for (std::optional<Line>* line : {&over, &under}) {
    if (*line) lines.push_back(*std::move(*line));
  }
  return lines;
}

// Ends when `stretch` steps close little of the gap. Returns the lines of the last step.
std::vector<MemoryPrices::Line> MemoryPrices::raise_several(Budget& budget) {
  PriceBundle bundle(best_prices_, parameters_.bundle);
  std::vector<Line> lines;
  double before = bound_;
  for (int i = 0; i < parameters_.most_steps && !budget.interrupted(); ++i) {
    Line line = evaluate(bundle.prices());
    budget.spend(tree_->num_costs());
    if (!(line.cost < kForbidden)) return {};
    offer(line.choice);
    if (num_rows() == 0) {
      line.weight = 1;
      lines.push_back(std::move(line));
      return lines;
    }
    if (bound_ >= best_->cost) break;
    const std::size_t at = bundle.add(line.at(bundle.prices()), line.excess);
    if (at == lines.size()) lines.emplace_back();
    lines[at] = std::move(line);
    std::vector<double> values;
    values.reserve(lines.size());
    for (const Line& each : lines)
      values.push_back(each.at(bundle.prices()));
    const double blind = bound_ + std::max(std::abs(bound_) * parameters_.blind_target, 1.0);
    const double target = best_->choice ? best_->cost : blind;
    budget.spend(bundle.move(values, target));
    if ((i + 1) % parameters_.stretch != 0) continue;
    if (bound_ - before < parameters_.progress * (target - before)) break;
    before = bound_;
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i].weight = bundle.weight(i);
  return lines;
}

}  // namespace shardwright::operators
