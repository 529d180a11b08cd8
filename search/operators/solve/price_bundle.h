// Finds prices that maximise a concave lower bound, from values and subgradients at a few points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// A concave model of a lower bound as a function of prices: the pointwise minimum of lines. A line
// is a linear function of the prices that is never below the bound. Thread safety: a value.
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
  double gain = 0;              // the model at `prices` less the model at the center
  unsigned exchanges = 0;
};

// Maximises the model less a penalty, the squared distance from the center divided by 2 x step. The
// maximum is at the center plus step times a weighted mean of the slopes. To find the weights,
// pairs of lines exchange weight until all lines with a weight have the same value there as the
// model. The first weights are `weights`, which are not negative and not all 0. Ends after
// `most_exchanges`. Cost: lines times prices per exchange. Precondition: at least one line.
ProximalStep proximal_step(const ProximalModel& model, std::vector<double> weights,
                           unsigned most_exchanges);

// Proximal bundle method: moves the prices of bytes, by time point, towards the highest lower
// bound. Each evaluation of the bound gives a line. The line's value at the evaluated prices is the
// bound there, and its slope is the excess over the limit, in bytes by time point. The minimum of
// the lines is a model of the bound. The next prices maximise the model less a penalty for the
// distance from the best prices so far. The caller gives the values of all lines anew for every
// step. Memory: a number per line and time point. Source: Kiwiel, Proximity control in bundle
// methods for convex nondifferentiable minimization, 1990. Thread safety: one thread at a time.
class PriceBundle {
 public:
  // `prices`: the first prices, by time point. None is negative.
  explicit PriceBundle(std::vector<double> prices, const PriceBundleParameters& parameters = {});

  // The prices to evaluate next, by time point.
  const std::vector<double>& prices() const { return prices_; }
  // The prices with the best bound.
  const std::vector<double>& best_prices() const { return best_prices_; }
  double best_bound() const { return best_bound_; }
  // Returns the weight of the line in the mean of slopes of the last move.
  double weight(std::size_t line) const { return lines_[line].weight; }

  // Adds the line found at prices(): the bound there, and the excess by time point. Returns the
  // number of the line. If the bundle is full, the new line replaces another and takes its number.
  std::size_t add(double bound, std::vector<double> excess);

  // Moves the prices. `values`: by line, its value at prices(). `target`: the cost of a known
  // choice, which determines the length of the first step. Returns the work: for each exchange of
  // weight, lines times time points that may have a price.
  std::uint64_t move(std::span<const double> values, double target);
  // Sets prices() to the best prices. move() then takes the values of lines there.
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
  std::vector<std::uint64_t> marked_;  // by time point: last step with an excess or a price
  std::uint64_t steps_ = 0;
  double step_ = 0;      // price per byte of excess; 0: not known yet
  double expected_ = 0;  // gain that the model expects of the last step
  int failures_ = 0;     // consecutive evaluations without a better bound
};

}  // namespace shardwright::operators
