#include "search/operators/solve/local/price_steps.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardwright::operators {
namespace {

// The time point of the largest excess of each run of exceeded ones, ascending.
std::vector<std::uint32_t> exceeded_peaks(const std::vector<std::int64_t>& excess) {
  std::vector<std::uint32_t> peaks;
  for (std::uint32_t t = 0; t < excess.size(); ++t) {
    if (excess[t] <= 0) continue;
    std::uint32_t peak = t;
    while (t + 1 < excess.size() && excess[t + 1] > 0) {
      ++t;
      if (excess[t] > excess[peak]) peak = t;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

bool step_prices(SearchState& state, double worth) {
  const std::vector<std::int64_t> excess = state.excess();
  std::vector<std::uint32_t> times = exceeded_peaks(excess);
  for (std::uint32_t t = 0; t < excess.size(); ++t) {
    if (excess[t] <= 0 && state.prices[t] > 0) times.push_back(t);
  }
  std::sort(times.begin(), times.end());
  double squares = 0;
  for (const std::uint32_t t : times) {
    const double by = static_cast<double>(excess[t]);
    squares += by * by;
  }
  if (squares == 0) return false;
  const double factor = worth / squares;
  for (const std::uint32_t t : times) {
    double& price = state.prices[t];
    price = std::max(0.0, price + factor * static_cast<double>(excess[t]));
  }
  return true;
}

void raise_exceeded_prices(SearchState& state, const PriceParameters& parameters) {
  double largest = 0;
  for (const double price : state.prices)
    largest = std::max(largest, price);
  for (const std::uint32_t t : exceeded_peaks(state.excess())) {
    double& price = state.prices[t];
    price += std::max(parameters.raise_of_own * price, parameters.raise_of_largest * largest);
  }
}

void lower_idle_prices(SearchState& state, const PriceParameters& parameters) {
  const std::vector<std::int64_t> excess = state.excess();
  const auto limits = state.graph.limits();
  for (std::size_t t = 0; t < excess.size(); ++t) {
    const double room = static_cast<double>(-excess[t]);
    if (state.prices[t] > 0 && room > parameters.room * static_cast<double>(limits[t]))
      state.prices[t] *= parameters.decay;
  }
}

}  // namespace shardwright::operators
