// Lagrangian prices for bytes at the time points that bind.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/exact_search.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// A limit on a sum of weights other than bytes. `weights` by flat strategy
// (BucketTree::first_cost). Thread safety: a value.
struct WeightLimit {
  std::shared_ptr<const std::vector<std::int64_t>> weights;
  std::int64_t limit = 0;
};

// Solves the Lagrangian dual: maximises the least priced cost over the prices. At the best prices a
// weighted mean of cheapest choices keeps the limits of all time points with prices. While the mean
// exceeds other limits, the time point of the largest excess gets a price; mostly one or two limits
// bind. Thread safety: one thread at a time.
class MemoryPrices {
 public:
  // Begins with the `known` prices by time point, which may be empty.
  MemoryPrices(const BucketTree& tree, ExactResult& best, std::span<const double> known = {},
               const MemoryPriceParameters& parameters = {});

  // Adds a time point that has no price yet.
  void add(std::uint32_t time, double price);
  // Adds a further limit with a price. Its row comes after those of the time points.
  void add(WeightLimit limit, double price);

  // Improves the bound and the prices until the prices no longer move, the budget ends or
  // optimality is proved. Better choices within the limits are kept in `best`.
  void raise(Budget& budget);
  // Adds the time point without a price whose limit the choice exceeds most. Returns false if there
  // is none.
  bool take_in(std::span<const std::uint32_t> choice);

  // The time points with a price. Rows are these time points, then the further limits.
  const std::vector<std::uint32_t>& times() const { return times_; }
  std::size_t num_rows() const { return times_.size() + others_.size(); }
  // By row, the prices of the best bound.
  const std::vector<double>& prices() const { return best_prices_; }
  std::int64_t limit(std::size_t row) const {
    return row < times_.size() ? tree_->instance().limits()[times_[row]]
                               : others_[row - times_.size()].limit;
  }
  // By row, then flat strategy.
  const std::vector<std::int64_t>& weights(std::size_t row) const {
    return row < times_.size() ? bytes_[row] : *others_[row - times_.size()].weights;
  }
  // The weighted mean of the cheapest choices: the weight of each strategy, flat.
  std::vector<double> mean() const;
  std::int64_t bytes(std::size_t row, std::uint32_t node, std::uint32_t strategy) const {
    return weights(row)[tree_->first_cost(node) + strategy];
  }
  std::vector<double> priced_costs(std::span<const double> prices) const;
  // The sum of price times limit. The lower bound is the least priced cost less this sum.
  double granted(std::span<const double> prices) const;
  double bound() const { return bound_; }
  BucketTables& tables() { return tables_; }

 private:
  // A choice that is cheapest at some prices; its priced cost is a linear function of prices.
  struct Line {
    std::vector<std::uint32_t> choice;
    double cost = 0;
    std::vector<double> excess;  // by row
    double weight = 0;           // in the mean

    double at(std::span<const double> prices) const;
  };

  Line evaluate(std::span<const double> prices);
  void offer(const std::vector<std::uint32_t>& choice);
  std::vector<Line> raise_single(Budget& budget);
  std::vector<Line> raise_several(Budget& budget);
  bool take_in_mean(std::span<const Line> lines);
  bool take_in_worst(std::span<const double> excess);
  std::vector<double> excess(std::span<const std::uint32_t> choice) const;

  const BucketTree* tree_;
  ExactResult* best_;
  MemoryPriceParameters parameters_;
  BucketTables tables_;
  std::vector<std::uint32_t> times_;
  std::vector<std::vector<std::int64_t>> bytes_;  // by index of times_, then flat strategy
  std::vector<WeightLimit> others_;
  std::vector<Line> lines_;  // of the last raise()
  std::vector<double> best_prices_;
  double bound_ = 0;
};

}  // namespace shardwright::operators
