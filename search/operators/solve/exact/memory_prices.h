// Lagrangian prices for bytes at the time points that bind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/operators/elimination/bucket_tables.h"
#include "search/operators/solve/exact/exact_search.h"
#include "search/operators/solve/parameters/exact_parameters.h"

namespace shardwright::operators {

// Maximises the least priced cost over the prices, which is the best lower bound that prices can
// give. Choices that are cheapest at the best prices make a mean that keeps the limits of all time
// points with prices. A time point gets a price if the mean exceeds its limit, the one that is
// exceeded most first: mostly one or two bind.
// Thread safety: one thread at a time.
class MemoryPrices {
 public:
  // Begins with the prices that are `known`, by time point; there may be none.
  MemoryPrices(const BucketTree& tree, ExactResult& best, std::span<const double> known = {},
               const MemoryPriceParameters& parameters = {});

  // Improves the bound and the prices until they no longer move, the budget ends or optimality is
  // proved. Better choices within the limits are kept in `best`.
  void raise(Budget& budget);
  // Adds the time point without a price whose limit the choice exceeds most. Returns false if there
  // is none.
  bool take_in(std::span<const std::uint32_t> choice);

  // The time points with a price, and the prices that gave the bound, by index of times().
  const std::vector<std::uint32_t>& times() const { return times_; }
  const std::vector<double>& prices() const { return best_prices_; }
  std::int64_t limit(std::size_t i) const { return tree_->instance().limits()[times_[i]]; }
  std::int64_t bytes(std::size_t i, std::uint32_t node, std::uint32_t strategy) const;
  std::vector<double> priced_costs(std::span<const double> prices) const;
  // The sum of price times limit, which the priced cost overstates.
  double granted(std::span<const double> prices) const;
  double bound() const { return bound_; }
  BucketTables& tables() { return tables_; }

 private:
  // A choice that is cheapest at some prices, and how its priced cost depends on them.
  struct Line {
    std::vector<std::uint32_t> choice;
    double cost = 0;
    std::vector<double> excess;  // by index of times_
    double weight = 0;           // in the mean

    double at(std::span<const double> prices) const;
  };

  Line evaluate(std::span<const double> prices);
  void offer(const std::vector<std::uint32_t>& choice);
  std::vector<Line> raise_single(Budget& budget);
  std::vector<Line> raise_several(Budget& budget);
  bool take_in_mean(std::span<const Line> lines);
  bool take_in_worst(std::span<const double> excess);
  void add_time(std::uint32_t time);
  std::vector<double> excess(std::span<const std::uint32_t> choice) const;

  const BucketTree* tree_;
  ExactResult* best_;
  MemoryPriceParameters parameters_;
  BucketTables tables_;
  std::vector<std::uint32_t> times_;
  std::vector<std::vector<std::int64_t>> bytes_;  // by index of times_, then node and strategy
  std::vector<double> best_prices_;
  double bound_ = 0;
};

}  // namespace shardwright::operators
