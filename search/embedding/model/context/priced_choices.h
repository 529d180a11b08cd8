// What the cheapest choices of all tables cost, as a function of the prices of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/context/pricing_parameters.h"

namespace shardwright::embedding {

class SearchContext;

// Load that a byte is worth when memory is scarce.
struct MemoryPrices {
  double hbm = 0;
  double ddr = 0;
};

// Only choices that are admitted count. Refers to the context, of which it needs the model, what
// fits, the speed and the room of all ranks.
// Thread safety: one thread at a time.
class PricedChoices {
 public:
  explicit PricedChoices(const SearchContext& context);

  // Admits the choices that fit and that pass the test, by index. O(choices).
  void admit(const std::function<bool(const Choice&)>& test);
  // Admits those whose largest shard rates at most this on some rank.
  void admit_below(double shard_rating);

  // One price at a time: exact where only one memory is scarce, near the best where both are.
  // Returns a rating that no allocation of admitted choices is below; infinite where a table has
  // none, where `fill`, the part of all memory that the cheapest may take, is 1. O(choices) time
  // per step.
  double fit_prices(int steps, MemoryPrices& prices, double fill = 1) const;
  // The cheapest choice of every table. Precondition: each has one that is admitted.
  std::vector<std::uint32_t> cheapest(const MemoryPrices& prices) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct At {
    double bound = 0;
    double spare_hbm = 0;  // negative: the cheapest choices take more than there is
    double spare_ddr = 0;
  };

  std::uint32_t cheapest_of(std::size_t table, const MemoryPrices& prices, double& cost) const;
  At at(const MemoryPrices& prices, double fill) const;
  void fit(int steps, double guess, double fill, double MemoryPrices::*price, double At::*spare,
           MemoryPrices& prices) const;

  const SearchContext& context_;
  const ChoiceModel& model_;
  const PricingParameters& pricing_;
  std::vector<std::uint8_t> admitted_;  // by choice
};

}  // namespace shardwright::embedding
