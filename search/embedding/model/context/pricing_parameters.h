// How precisely memory is priced before a search begins.
#pragma once

#include <array>

namespace shardwright::embedding {

// Prices are found by bisection once per model, so every figure trades set-up time against how
// tight the first bound is. Thread safety: a value.
struct PricingParameters {
  // Bisection steps, where a price decides only whether a rating is possible.
  int coarse_steps = 12;
  // Bisection steps for the prices that choices are compared by: the whole mantissa, nearly.
  int fine_steps = 40;
  // Factor by which a price is raised until the cheapest choices fit, and the most raises.
  double price_growth = 8;
  int most_price_growths = 60;
  // Turns between the price of HBM and that of DDR. Where only one is scarce, one turn is exact.
  int turns = 3;
  // The bound is bracketed by this factor, then bisected to bound_width or for bound_steps steps.
  double bound_growth = 1.5;
  double bound_width = 1.001;
  int bound_steps = 10;
  // Parts of the memory that restarts price for: shards never fill every byte, and how much they
  // waste is known only once they are placed.
  std::array<double, 7> fills{0.995, 0.985, 0.97, 0.94, 0.9, 0.8, 0.65};
};

}  // namespace shardwright::embedding
