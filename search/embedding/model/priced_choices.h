// Prices of memory by Lagrangian relaxation, and how precisely they are found.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/model/choice_model.h"
#include "search/random.h"

namespace shardwright::embedding {

// Prices are found by bisection once per model, so every parameter trades set-up time against the
// tightness of the first bound. Effects of changes: perf/parameters/README.md.
// Thread safety: a value.
struct PricingParameters {
  // Bisection steps if a price only decides whether a rating is possible.
  static constexpr int coarse_steps = 12;
  // Bisection steps for the prices that choices are compared by: 12 digits.
  static constexpr int fine_steps = 40;
  // Factor by which a price is raised until the cheapest choices fit, and the most raises made.
  double price_growth = 8;
  static constexpr int most_price_growths = 60;
  // Rounds in which the prices of the tiers are set in turn. If only one tier is scarce, one round
  // is exact.
  static constexpr int turns = 3;
  // Steps of this factor bracket the bound; bound_steps bisections narrow it to bound_width.
  static constexpr double bound_growth = 1.5;
  double bound_width = 1.001;
  int bound_steps = 10;
};

class SearchContext;

// What a byte is worth, in load: the dual values of the memory constraints.
using MemoryPrices = PerTier<double>;

// By Reach.
using ReachFactors = std::array<double, kReaches>;

// The Lagrangian relaxation of the memory constraints, over the choices that are admitted.
// Thread safety: one thread at a time. Refers to the context, which may be under construction: the
// model, what fits, the speed and the total capacity must be set.
class PricedChoices {
 public:
  // If `budget` is not null and is interrupted, bisections end early: prices are then less exact,
  // and dual values lower, but still bounds.
  explicit PricedChoices(const SearchContext& context, const Budget* budget = nullptr);

  // Admits the choices that fit and pass the test, and no others. O(choices).
  void admit(const std::function<bool(const Choice&)>& test);
  // Admits the choices whose largest shard rates at most `shard_rating` on the fastest rank.
  void admit_below(double shard_rating);

  // Sets the prices at which the cheapest choices fit in all memory. Prices are set one at a time,
  // which is optimal if only one memory is scarce and close to optimal if several are. Returns the
  // dual value, a lower bound on the rating of every allocation of admitted choices. Returns
  // infinity if a table has no admitted choice. Time: O(choices) per bisection step.
  double fit_prices(int steps, MemoryPrices& prices) const;
  // The cheapest choice of every table. Precondition: every table has an admitted choice.
  std::vector<std::uint32_t> cheapest(const MemoryPrices& prices) const;
  // A random choice of every table, by a Boltzmann distribution: a choice that costs one
  // temperature more than the cheapest of its table is e times less likely. The temperature is at
  // most `excess` and such that the expected extra cost of all tables together is `excess`, up to
  // the precision of `steps` bisections. The load of a choice is multiplied by the factor of its
  // reach. Precondition: as of cheapest(). Time: O(choices) per step of `steps`.
  std::vector<std::uint32_t> draw(const MemoryPrices& prices, const ReachFactors& factors,
                                  double excess, int steps, RandomGenerator& random) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct At {
    double bound = 0;
    PerTier<double> spare = {};  // negative: the cheapest choices take more than there is
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
