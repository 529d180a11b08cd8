// Prices of memory by Lagrangian relaxation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/model/choice_model.h"
#include "search/random.h"

namespace shardwright::embedding {

// How precisely prices are found. More precision takes more set-up time and gives a tighter first
// bound. Effects of changes: perf/parameters/README.md.
// Thread safety: a value.
struct PricingParameters {
  // Bisection steps if a price only decides whether a rating is possible.
  static constexpr int kCoarseSteps = 12;
  // Bisection steps for the prices that choices are compared by: 12 digits.
  static constexpr int kFineSteps = 40;
  // Factor by which a price is raised until the cheapest choices fit, and most raises.
  double price_growth = 8;
  static constexpr int kMostPriceGrowths = 60;
  // Times that each tier's price is set, in turn. Once is exact if only one tier is scarce.
  static constexpr int kTurns = 3;
  // The bound is bracketed by steps of the factor bound_growth. Bisection, at most bound_steps
  // times, narrows the bracket to the factor bound_width.
  static constexpr double kBoundGrowth = 1.5;
  double bound_width = 1.001;
  int bound_steps = 10;
};

class SearchContext;

// Price of a byte, in units of load: the dual values of the memory constraints.
using MemoryPrices = PerTier<double>;

// By Reach.
using ReachFactors = std::array<double, kReaches>;

// The Lagrangian relaxation of the memory constraints, over a set of admitted choices.
// Thread safety: one thread at a time. Refers to the context, which may be under construction: the
// model, what fits, the speed and the total capacity must be set.
class PricedChoices {
 public:
  // If `budget` is not null and is interrupted, bisections end early: prices are then less exact,
  // and dual values lower, but still bounds.
  explicit PricedChoices(const SearchContext& context, const Budget* budget = nullptr);

  // Admits exactly the choices that fit the memory and pass the test. O(choices).
  void admit(const std::function<bool(const Choice&)>& test);
  // Admits the choices whose largest shard rates at most `shard_rating` on the fastest rank.
  void admit_below(double shard_rating);

  // Sets prices at which the cheapest choices together fit in all memory. Prices are set one tier
  // at a time, which is optimal if only one tier is scarce and close to optimal if several are.
  // Returns the dual value, a lower bound of the rating of every allocation of admitted choices;
  // infinity if a table has no admitted choice. Time: O(choices) per bisection step.
  double fit_prices(int steps, MemoryPrices& prices) const;
  // The cheapest choice of every table. Precondition: every table has an admitted choice.
  std::vector<std::uint32_t> cheapest(const MemoryPrices& prices) const;
  // A random choice of every table, by a Boltzmann distribution: a choice that costs one
  // temperature more than its table's cheapest choice is e times less likely. Bisection (`steps`)
  // sets the temperature, at most `excess`, so that the expected cost of all tables exceeds the
  // least cost by `excess`. The load of a choice is multiplied by the factor of its reach.
  // Precondition: every table has an admitted choice. Time: O(choices) per step of `steps`.
  std::vector<std::uint32_t> draw(const MemoryPrices& prices, const ReachFactors& factors,
                                  double excess, int steps, RandomGenerator& random) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct At {
    double bound = 0;
    PerTier<double> spare = {};  // of all memory; negative if the cheapest choices exceed it
  };

  double cost_of(const Choice& choice, const MemoryPrices& prices) const {
    return add_priced(choice.load, prices, choice.bytes);
  }
  std::uint32_t cheapest_of(std::size_t table, const MemoryPrices& prices, double& cost) const;
  std::vector<double> excess_of_choices(const MemoryPrices& prices,
                                        const ReachFactors& factors) const;
  double expected_excess(const std::vector<double>& excess, double temperature) const;
  At at(const MemoryPrices& prices) const;
  void fit(int steps, double guess, MemoryTier tier, MemoryPrices& prices) const;

  bool is_stopped() const { return budget_ != nullptr && budget_->interrupted(); }

  const SearchContext& context_;
  const Budget* budget_;
  const ChoiceModel& model_;
  const PricingParameters& pricing_;
  std::vector<std::uint8_t> admitted_;  // by choice
};

}  // namespace shardwright::embedding
