// Divides a problem by how many equal nodes hold much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/exact/exact_search.h"
#include "search/operators/solve/exact/memory_prices.h"
#include "search/operators/solve/parameters/exact_parameters.h"

namespace shardwright::operators {

// How many nodes of a group take a heavy strategy. A group is of nodes whose strategies hold the
// same, or cost and hold the same.
// Thread safety: a value.
struct HeavyCount {
  std::uint32_t nodes = 0;
  std::vector<std::int64_t> bytes;   // between heavy and light, by time point with a price
  std::int64_t unit = 1;             // the weight of one node: such bytes
  std::vector<std::uint32_t> heavy;  // flat strategies
  // Of the heavy strategies, and of the others: `unit`.
  std::shared_ptr<const std::vector<std::int64_t>> weights, other_weights;
};

// The counts of the instance of a tree. Strategies are heavy by what they hold at the time points
// with prices.
std::vector<HeavyCount> heavy_counts(const BucketTree& tree, const MemoryPrices& memory);

// Where memory binds, prices alone leave a gap: at the best ones, all equal nodes can be heavy, or
// all light, and the bound is that of a part of them. So the count of those that are heavy is
// limited from above in one part, and from below in the other; both limits have prices. Equal nodes
// can be exchanged, which makes branching on one of them worthless, but not on their count.
// Parts are closed by their bounds or by a LabelSearch.
// Thread safety: one thread at a time.
class CountSearch {
 public:
  // `known` has the best choice so far and takes better ones; `memory` has prices for all parts.
  // Lists have at most `max_labels` partial choices.
  CountSearch(const BucketTree& tree, const MemoryPrices& memory, ExactResult& known,
              std::size_t max_labels, const ExactParameters& parameters);

  // Raises the bound of `known` until it is proved, and says so there; or until nothing can be
  // divided, the budget ends or the parts are too many. Work is counted as by LabelSearch and
  // MemoryPrices.
  void run(Budget& budget);

 private:
  struct Limit {
    std::uint32_t count = 0;  // index
    bool is_least = false;    // of the count, otherwise the most
    std::int64_t nodes = 0;
    double price = 0;
  };
  struct Fraction {
    std::uint32_t count = 0;  // index
    double mean = 0;
  };
  struct Part {
    std::vector<Limit> limits;
    std::vector<double> prices;  // by index of times_; the first of them, others have none
    double bound = 0;
    std::size_t labels = 0;  // that lists may have
  };

  void close_or_divide(Part part, Budget& budget);
  MemoryPrices price(Part& part, Budget& budget);
  bool search_labels(Part& part, MemoryPrices& memory, Budget& budget);
  std::optional<Fraction> fraction(const Part& part, const MemoryPrices& memory) const;
  void take_over(const MemoryPrices& memory, Part& part);
  bool divide(const Part& part, const MemoryPrices& memory);
  void add(Part part);
  WeightLimit weight_limit(const Limit& limit) const;
  double least_bound() const;

  const BucketTree* tree_;
  ExactResult* known_;
  const ExactParameters* parameters_;
  std::size_t max_labels_;
  std::vector<std::uint32_t> times_;  // with prices in any part
  std::vector<HeavyCount> counts_;
  std::vector<Part> open_;
  std::vector<Part> listed_;       // closed by labels, at these time points
  double undivided_ = kForbidden;  // the least bound of parts that were given up
};

}  // namespace shardwright::operators
