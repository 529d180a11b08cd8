// Prices that raise a bound: a concave function of which values and slopes at a few points are
// known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// The model is the least of some lines. Its lines are those of a bound by prices.
// Thread safety: a value.
struct ProximalModel {
  std::vector<double> center;               // by price; none is negative
  std::vector<double> values;               // by line, at the center
  std::vector<std::vector<double>> slopes;  // by line and price
  double step = 1;  // prices per unit of slope that one line alone would move them by
};

// Thread safety: a value.
struct ProximalStep {
  std::vector<double> prices;   // none is negative
  std::vector<double> weights;  // by line; not negative, their sum is 1
  double gain = 0;              // of the model's value over that at the center
  unsigned exchanges = 0;
};

// Maximises the model less the squared distance from the center over 2 x step. The maximum is where
// a weighted mean of the slopes leads; pairs of lines exchange weight until all lines of the mean
// have the least value there. `weights` are those to start from: not negative, and not all 0. Ends
// after `most_exchanges` at the latest. Cost: lines times prices per exchange.
// Precondition: at least one line.
ProximalStep proximal_step(const ProximalModel& model, std::vector<double> weights,
                           unsigned most_exchanges);

// The prices of bytes by time point, moved towards the largest lower bound. Each evaluation gives a
// line: a bound at the prices, and the bytes by which its choice exceeds every limit, which is its
// slope. The least of the lines is a model of the bound. The next prices are the best ones of the
// model, less a penalty for their distance to the best prices so far (proximal bundle method).
// Lines may change their values between steps, as messages do.
// Memory: a number per line and time point. Source: Kiwiel, Proximity control in bundle methods for
// convex nondifferentiable minimization, 1990.
// Thread safety: one thread at a time.
class PriceBundle {
 public:
  // `prices` by time point, to start from. None is negative.
  explicit PriceBundle(std::vector<double> prices, const PriceBundleParameters& parameters = {});

  // By time point, where to evaluate next.
  const std::vector<double>& prices() const { return prices_; }
  // Those with the best bound.
  const std::vector<double>& best_prices() const { return best_prices_; }
  double best_bound() const { return best_bound_; }
  // The part of the line in the mean whose slope the last move followed.
  double weight(std::size_t line) const { return lines_[line].weight; }

  // Takes in the line that was found at prices(): the bound there, and the excess by time point.
  // Returns its number; it replaces the line of that number, if there is one.
  std::size_t add(double bound, std::vector<double> excess);

  // Moves the prices. `values` has the bound of every line at prices(). `target` is the cost of a
  // known choice; it decides how far the first step goes. Returns the work: lines times time points
  // that matter, for every exchange of weight among lines.
  std::uint64_t move(std::span<const double> values, double target);
  // The next move starts from the best prices, and so do its values.
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
  std::vector<std::uint64_t> marked_;  // by time point: the last step that had a use for it
  std::uint64_t steps_ = 0;
  double step_ = 0;      // prices per byte of excess; 0 = not known yet
  double expected_ = 0;  // by how much the model says that the last step raises the bound
  int failures_ = 0;     // evaluations in a row without a better bound
};

}  // namespace shardwright::operators
