#include "search/operators/solve/exact/dual/proximal_step.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace shardwright::operators {
namespace {

// The weights of one step and where they lead.
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

  // Moves weight from the line of the mean with the largest value to that with the least. Returns
  // false if they differ by no more than `tolerance` of the gain.
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
  std::vector<double> reached_;  // center + step x mean slope; below 0 means 0
  std::vector<double> values_;   // by line, at the prices reached
};

}  // namespace

ProximalStep proximal_step(const ProximalModel& model, std::vector<double> weights,
                           unsigned most_exchanges) {
  // Differences below this part of the gain do not move the prices by anything that matters.
  constexpr double kTolerance = 1e-3;
  Exchanges exchanges(model, std::move(weights));
  unsigned made = 0;
  while (made < most_exchanges && exchanges.exchange(kTolerance))
    ++made;
  ProximalStep result = std::move(exchanges).result();
  result.exchanges = made;
  return result;
}

}  // namespace shardwright::operators
