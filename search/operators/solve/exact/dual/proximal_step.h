// The best prices of a model made of lines, near given prices.
#pragma once

#include <cstddef>
#include <vector>

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

}  // namespace shardwright::operators
