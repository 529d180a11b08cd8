// Maximises a concave lower bound over prices, given its values and subgradients at a few points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// A concave model of a lower bound as a function of prices: the pointwise minimum of lines. A line
// is a linear function of the prices that is nowhere below the bound.
// Thread safety: a value.
struct ProximalModel {
  std::vector<double> center;               // by price; none is negative
  std::vector<double> values;               // by line, at the center
  std::vector<std::vector<double>> slopes;  // by line and price
  double step = 1;                          // with a single line, prices move by step * slope
};

// Thread safety: a value.
struct ProximalStep {
  std::vector<double> prices;   // none is negative
  std::vector<double> weights;  // by line; not negative, their sum is 1
  double gain = 0;              // the model's value at `prices` less its value at the center
  unsigned exchanges = 0;
};

// Maximises the model less a penalty: the squared distance from the center, divided by 2 x step.
// The maximum is at the center plus step times a weighted mean of the slopes. Pairs of lines
// exchange weight until all lines with a weight have the model's value there. The exchanges start
// from `weights`, which are not negative and not all 0, and end after `most_exchanges` at the
// latest. Cost: lines times prices per exchange.
// Precondition: at least one line.
ProximalStep proximal_step(const ProximalModel& model, std::vector<double> weights,
                           unsigned most_exchanges);

// Proximal bundle method for prices of bytes by time point: moves them towards the largest lower
// bound. Each evaluation gives a line. The value of a line at the prices is the bound there; its
// slope is the excess over the limit, in bytes by time point. The minimum of the lines is a model
// of the bound. The next prices maximise the model less a penalty for their distance from the best
// prices so far. The values of lines are given anew for every step.
// Memory: a number per line and time point. Source: Kiwiel, Proximity control in bundle methods for
// convex nondifferentiable minimization, 1990.
// Thread safety: one thread at a time.
class PriceBundle {
 public:
  // `prices` by time point, to start from. None is negative.
  explicit PriceBundle(std::vector<double> prices, const PriceBundleParameters& parameters = {});

  // By time point, where to evaluate next.
  const std::vector<double>& prices() const { return prices_; }
  // The prices with the best bound.
  const std::vector<double>& best_prices() const { return best_prices_; }
  double best_bound() const { return best_bound_; }
  // The weight of the line in the mean of slopes that the last move followed.
  double weight(std::size_t line) const { return lines_[line].weight; }

  // Adds the line found at prices(): the bound there, and the excess by time point. Returns the
  // number of the line. A full bundle gives it the number of the line that it drops.
  std::size_t add(double bound, std::vector<double> excess);

  // Moves the prices. `values` has the value of every line at prices(). `target` is the cost of a
  // known choice; the length of the first step depends on it. Returns the work: lines times time
  // points that may have a price, per exchange of weight.
  std::uint64_t move(std::span<const double> values, double target);
  // Sets prices() to the best prices. The next move() takes the values of lines at these prices.
  void return_to_best() { prices_ = best_prices_; }

 private:
  struct Line {
    std::vector<double> excess;
    double weight = 0;  // in the last step
    std::uint64_t made = 0;
  };

  std::size_t place_for_line() const;
  void judge(double bound);
  void mark_exceeded(const std::vector<double>& excess);
  void mark_priced();
  std::vector<std::uint32_t> marked_times() const;
  ProximalModel model(std::span<const std::uint32_t> times, std::span<const double> values) const;
  double first_step(std::span<const std::uint32_t> times, double gap) const;

  PriceBundleParameters parameters_;
  std::vector<double> prices_;
  std::vector<double> best_prices_;
  double best_bound_;
  std::vector<Line> lines_;
  std::size_t newest_ = 0;
  std::vector<std::uint64_t> marked_;  // by time point: the last step with an excess or a price
  std::uint64_t steps_ = 0;
  double step_ = 0;      // prices per byte of excess; 0 = not known yet
  double expected_ = 0;  // the gain of the last step according to the model
  int failures_ = 0;     // evaluations in a row without a better bound
};

}  // namespace shardwright::operators
