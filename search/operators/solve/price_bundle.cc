#include "search/operators/solve/price_bundle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace shardwright::operators {
namespace {

// Weights of the lines (linear functions) of a proximal model, which sum to 1. Moves weight from
// one line to another, and keeps the prices to which the weights lead from the model's center.
// Thread safety: one thread at a time.
class Exchanges {
 public:
  Exchanges(const ProximalModel& model, std::vector<double> weights)
      : model_(&model), weights_(std::move(weights)), reached_(model.center) {
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    for (std::size_t line = 0; line < weights_.size(); ++line) {
      weights_[line] /= sum;
      shift(line, weights_[line]);
    }
    measure();
  }

  // Moves weight to the line of least value from the line of largest value among those with a
  // weight. Returns false if their values differ by no more than `tolerance` of the gain.
  bool exchange(double tolerance) {
    const std::size_t low = lowest();
    const std::size_t high = highest_of_mean();
    const double difference = values_[high] - values_[low];
    if (difference <= tolerance * gain()) return false;
    double norm = 0;
    for (std::size_t p = 0; p < reached_.size(); ++p) {
      const double slope = model_->slopes[low][p] - model_->slopes[high][p];
      if (reached_[p] > 0) norm += slope * slope;
    }
    if (norm == 0) return false;
    const double moved = std::min(weights_[high], difference / (model_->step * norm));
    if (moved <= 0) return false;
    weights_[high] -= moved;
    weights_[low] += moved;
    shift(high, -moved);
    shift(low, moved);
    measure();
    return true;
  }

  double gain() const {
    return values_[lowest()] - *std::min_element(model_->values.begin(), model_->values.end());
  }

  ProximalStep result() && {
    ProximalStep result;
    result.gain = gain();
    result.prices = std::move(reached_);
    for (double& price : result.prices)
      price = std::max(0.0, price);
    result.weights = std::move(weights_);
    return result;
  }

 private:
  void shift(std::size_t line, double weight) {
    if (weight == 0) return;
    const std::vector<double>& slopes = model_->slopes[line];
    for (std::size_t p = 0; p < reached_.size(); ++p)
      reached_[p] += model_->step * weight * slopes[p];
  }

  void measure() {
    values_ = model_->values;
    for (std::size_t line = 0; line < values_.size(); ++line) {
      const std::vector<double>& slopes = model_->slopes[line];
      for (std::size_t p = 0; p < reached_.size(); ++p)
        values_[line] += slopes[p] * (std::max(0.0, reached_[p]) - model_->center[p]);
    }
  }

  std::size_t lowest() const {
    return static_cast<std::size_t>(std::min_element(values_.begin(), values_.end()) -
                                    values_.begin());
  }

  std::size_t highest_of_mean() const {
    std::size_t high = lowest();
    for (std::size_t line = 0; line < values_.size(); ++line) {
      if (weights_[line] > 0 && values_[line] > values_[high]) high = line;
    }
    return high;
  }

  const ProximalModel* model_;
  std::vector<double> weights_;
  std::vector<double> reached_;  // center + step x mean slope, at least 0
  std::vector<double> values_;   // by line, at the prices reached
};

std::vector<double> at_times(const std::vector<double>& all, std::span<const std::uint32_t> times) {
  std::vector<double> some;
  some.reserve(times.size());
  for (const std::uint32_t time : times)
    some.push_back(all[time]);
  return some;
}

}  // namespace

ProximalStep proximal_step(const ProximalModel& model, std::vector<double> weights,
                           unsigned most_exchanges) {
  // Exchanges end when values differ by less than this fraction of the gain: prices hardly move.
  constexpr double kTolerance = 1e-3;
  Exchanges exchanges(model, std::move(weights));
  unsigned made = 0;
  while (made < most_exchanges && exchanges.exchange(kTolerance))
    ++made;
  ProximalStep result = std::move(exchanges).result();
  result.exchanges = made;
  return result;
}

PriceBundle::PriceBundle(std::vector<double> prices, const PriceBundleParameters& parameters)
    : parameters_(parameters),
      prices_(std::move(prices)),
      best_prices_(prices_),
      best_bound_(-std::numeric_limits<double>::infinity()),
      marked_(prices_.size(), 0) {}

std::size_t PriceBundle::add(double bound, std::vector<double> excess) {
  ++steps_;
  judge(bound);
  mark_exceeded(excess);
  newest_ = place_for_line();
  if (newest_ == lines_.size()) lines_.emplace_back();
  lines_[newest_] = {std::move(excess), 0, steps_};
  return newest_;
}

// Returns the line to replace: that of least weight in the last step; of several, the oldest.
std::size_t PriceBundle::place_for_line() const {
  if (lines_.size() < parameters_.most_lines) return lines_.size();
  const auto least =
      std::min_element(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
        return std::pair(a.weight, a.made) < std::pair(b.weight, b.made);
      });
  return static_cast<std::size_t>(least - lines_.begin());
}

// Keeps the prices if the bound is better. Lengthens steps if the gain came close to the model's
// expectation, and shortens them if an expected gain did not come.
void PriceBundle::judge(double bound) {
  const double gain = bound - best_bound_;
  if (gain > 0) {
    if (failures_ == 0 && gain > parameters_.enough_gain * expected_) {
      step_ *= parameters_.step_growth;
    }
    failures_ = 0;
    best_bound_ = bound;
    best_prices_ = prices_;
    return;
  }
  ++failures_;
  if (-gain > expected_) {
    step_ *= parameters_.large_step_decay;
  } else if (failures_ >= parameters_.patience) {
    step_ *= parameters_.step_decay;
  }
}

// Marks the time point of the largest excess in each interval of time.
void PriceBundle::mark_exceeded(const std::vector<double>& excess) {
  const std::size_t size = excess.size();
  const std::size_t stretch = std::max<std::size_t>(1, size / parameters_.stretches);
  for (std::size_t begin = 0; begin < size; begin += stretch) {
    const std::size_t end = std::min(size, begin + stretch);
    std::size_t most = begin;
    for (std::size_t t = begin; t < end; ++t) {
      if (excess[t] > excess[most]) most = t;
    }
    if (excess[most] > 0) marked_[most] = steps_;
  }
}

void PriceBundle::mark_priced() {
  for (std::size_t t = 0; t < prices_.size(); ++t) {
    if (prices_[t] > 0 || best_prices_[t] > 0) marked_[t] = steps_;
  }
}

std::vector<std::uint32_t> PriceBundle::marked_times() const {
  std::vector<std::uint32_t> times;
  for (std::uint32_t t = 0; t < marked_.size(); ++t) {
    if (marked_[t] > 0 && marked_[t] + parameters_.forget_after > steps_) times.push_back(t);
  }
  return times;
}

double PriceBundle::first_step(std::span<const std::uint32_t> times, double gap) const {
  double norm = 0;
  for (const std::uint32_t t : times) {
    const double excess = lines_[newest_].excess[t];
    norm += excess * excess;
  }
  return norm > 0 ? parameters_.first_step * gap / norm : 0;
}

// Returns the model over the prices of these time points, with the best prices as center.
ProximalModel PriceBundle::model(std::span<const std::uint32_t> times,
                                 std::span<const double> values) const {
  ProximalModel model{at_times(best_prices_, times), {}, {}, step_};
  const std::vector<double> here = at_times(prices_, times);
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    std::vector<double> slopes = at_times(lines_[line].excess, times);
    double value = values[line];
    for (std::size_t p = 0; p < times.size(); ++p)
      value += slopes[p] * (model.center[p] - here[p]);
    model.values.push_back(value);
    model.slopes.push_back(std::move(slopes));
  }
  return model;
}

std::uint64_t PriceBundle::move(std::span<const double> values, double target) {
  mark_priced();
  const std::vector<std::uint32_t> times = marked_times();
  const double gap = std::max(target - best_bound_, std::abs(target) * 1e-9);
  if (step_ == 0) step_ = first_step(times, gap);
  if (step_ == 0) return 0;
  std::vector<double> weights;
  for (const Line& line : lines_)
    weights.push_back(line.weight);
  if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; })) {
    weights[newest_] = 1;
  }
  const ProximalStep step =
      proximal_step(model(times, values), std::move(weights), parameters_.most_exchanges);
  expected_ = std::max(step.gain, parameters_.least_gain * gap);
  for (std::size_t line = 0; line < lines_.size(); ++line)
    lines_[line].weight = step.weights[line];
  std::fill(prices_.begin(), prices_.end(), 0);
  for (std::size_t p = 0; p < times.size(); ++p)
    prices_[times[p]] = step.prices[p];
  return std::uint64_t{step.exchanges + 1} * lines_.size() * times.size();
}

}  // namespace shardwright::operators
