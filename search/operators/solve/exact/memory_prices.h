// Lagrangian prices for bytes at the time points that bind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/operators/elimination/bucket_tables.h"
#include "search/operators/solve/exact/exact_search.h"

namespace shardwright::operators {

// Maximises the least priced cost over the prices. Time points are taken in when a choice exceeds
// their limit.
// Thread safety: none.
class MemoryPrices {
 public:
  MemoryPrices(const BucketTree& tree, ExactResult& best);

  // Improves the bound and the prices until neither moves, the budget ends or optimality is proved.
  void raise(Budget& budget);
  // Takes in time points, not yet taken in, whose limit the choice exceeds; whether there was one.
  bool take_in(std::span<const std::uint32_t> choice);

  // Time points, with their prices and limits, and the priced node costs.
  const std::vector<std::uint32_t>& times() const { return times_; }
  const std::vector<double>& prices() const { return best_prices_; }
  std::int64_t limit(std::size_t i) const { return tree_->instance().limits()[times_[i]]; }
  std::int64_t bytes(std::size_t i, std::uint32_t node, std::uint32_t strategy) const;
  std::vector<double> priced_costs(std::span<const double> prices) const;
  // Sum of price times limit.
  double granted(std::span<const double> prices) const;
  double bound() const { return bound_; }
  BucketTables& tables() { return tables_; }

 private:
  double evaluate(std::span<const double> prices, std::vector<std::uint32_t>& choice);
  void offer(const std::vector<std::uint32_t>& choice);
  void raise_single(Budget& budget);
  void raise_all(Budget& budget);
  std::vector<double> excess(std::span<const std::uint32_t> choice) const;

  const BucketTree* tree_;
  ExactResult* best_;
  BucketTables tables_;
  std::vector<std::uint32_t> times_;
  std::vector<std::vector<std::int64_t>>
      bytes_;  // by time taken in, then flat by node and strategy
  std::vector<double> best_prices_;
  double bound_ = 0;
};

}  // namespace shardwright::operators
