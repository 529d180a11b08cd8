// Lagrangian prices for bytes at the time points whose limits bind.
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

// A limit on a sum of weights that are not bytes. `weights`: by flat strategy
// (BucketTree::first_cost). Thread safety: a value.
struct WeightLimit {
  std::shared_ptr<const std::vector<std::int64_t>> weights;
  std::int64_t limit = 0;
};

// Solves the Lagrangian dual: finds prices of bytes at which the least priced cost, minus the sum
// of price times limit, is highest. At these prices, a weighted mean of cheapest choices keeps the
// limits of all time points with prices. While the mean exceeds another limit, the time point of
// the largest excess gets a price.  Thread safety: one thread at a time.
class MemoryPrices {
 public:
  // Starts with the prices `known`, by time point; may be empty.
  MemoryPrices(const BucketTree& tree, ExactResult& best, std::span<const double> known = {},
               const MemoryPriceParameters& parameters = {});

  // Adds a price for a time point that has none yet.
  void add(std::uint32_t time, double price);
  // Adds another limit with a price. Its row comes after the rows of the time points.
  void add(WeightLimit limit, double price);

  // Improves the bound and the prices until the prices stop moving, the budget ends or optimality
  // is proved. Keeps better choices within the limits in `best`.
  void raise(Budget& budget);
  // Adds the time point without a price that `choice` exceeds most. Returns false if there is none.
  bool take_in(std::span<const std::uint32_t> choice);

  // The time points with a price. Rows are these time points and then the other limits.
  const std::vector<std::uint32_t>& times() const { return times_; }
  std::size_t num_rows() const { return times_.size() + others_.size(); }
  // The prices of the best bound, by row.
  const std::vector<double>& prices() const { return best_prices_; }
  std::int64_t limit(std::size_t row) const {
    return row < times_.size() ? tree_->instance().limits()[times_[row]]
                               : others_[row - times_.size()].limit;
  }
  // The weights of a row, by flat strategy.
  const std::vector<std::int64_t>& weights(std::size_t row) const {
    return row < times_.size() ? bytes_[row] : *others_[row - times_.size()].weights;
  }
  // Returns the weighted mean of the cheapest choices, by flat strategy: the weight of the choices
  // that take the strategy.
  std::vector<double> mean() const;
  std::int64_t bytes(std::size_t row, std::uint32_t node, std::uint32_t strategy) const {
    return weights(row)[tree_->first_cost(node) + strategy];
  }
  std::vector<double> priced_costs(std::span<const double> prices) const;
  // Returns the sum of price times limit. The lower bound is the least priced cost minus this sum.
  double granted(std::span<const double> prices) const;
  double bound() const { return bound_; }
  BucketTables& tables() { return tables_; }

 private:
  // A choice that is cheapest at some prices. Its priced cost is a linear function of the prices.
  struct Line {
    std::vector<std::uint32_t> choice;
    double cost = 0;
    std::vector<double> excess;  // by row
    double weight = 0;           // of the choice in the mean

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
