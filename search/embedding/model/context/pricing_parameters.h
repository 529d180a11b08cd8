// How precisely memory is priced before a search begins.
//
// A comment behind a default is the mean change of ratings at fixed work, + is worse, when it is
// halved and doubled: perf/parameters/README.md.
#pragma once

#include <array>

namespace shardwright::embedding {

// Prices are found by bisection once per model, so every figure trades set-up time against how
// tight the first bound is.
// Thread safety: a value.
struct PricingParameters {
  // Bisection steps if a price only decides whether a rating is possible.
  static constexpr int coarse_steps = 12;
  // Bisection steps for the prices that choices are compared by: 12 digits.
  static constexpr int fine_steps = 40;
  // Factor by which a price is raised until the cheapest choices fit, and the most raises.
  double price_growth = 8;
  static constexpr int most_price_growths = 60;
  // How often the prices of the memories are set in turn. If only one memory is scarce, one turn is
  // exact.
  static constexpr int turns = 3;
  // The bound is bracketed by this factor, then bisected to bound_width or for bound_steps steps.
  static constexpr double bound_growth = 1.5;
  double bound_width = 1.001;  // halved 0, doubled +0.148 %
  int bound_steps = 10;        // halved +0.148 %, doubled 0
  // Parts of the memory that restarts price for: shards never fill every byte, and how much they
  // waste is known only once they are placed.
  static constexpr std::array<double, 7> fills{0.995, 0.985, 0.97, 0.94, 0.9, 0.8, 0.65};
};

}  // namespace shardwright::embedding
