// Finds the cheapest choice within limits by labels, which are partial choices, over a bucket tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/memory_prices.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// Lists labels bucket by bucket. A label is a partial choice of a subtree, with its cost and its
// bytes at the time points that have prices. A label is dropped if the priced cost of its cheapest
// completion reaches the cutoff, or if another label costs no more and holds no more. Keeps its
// tables from call to call. Source: Handler and Zang, A dual algorithm for the constrained shortest
// path problem, 1980. Thread safety: one thread at a time.
class LabelSearch {
 public:
  // Keeps at most `max_labels` labels at a time, and limits the work of all calls accordingly.
  LabelSearch(const BucketTree& tree, const MemoryPrices& memory, std::size_t max_labels,
              const LabelParameters& parameters = {});

  enum class End : std::uint8_t {
    kFound,
    kNothing,  // proved: no such choice exists
    kGivenUp,  // gave up: too many labels, or the budget ended
  };
  // Finds the cheapest choice within the limits of the time points with prices, among the choices
  // whose priced cost is below `cutoff`. Within the limits, the priced cost is at most the cost. So
  // every choice that costs less than the cutoff is considered. Work counts combinations of labels.
  End run(double cutoff, Budget& budget);
  // The choice and its cost; valid after kFound.
  const std::vector<std::uint32_t>& choice() const { return choice_; }
  double cost() const { return cost_; }

 private:
  struct Label {
    double cost = 0;
    double priced = 0;  // priced cost with the cheapest choice of children not combined yet
    std::uint32_t strategy = 0;
    std::uint32_t parts = 0;  // index of its first child's label in Labels::parts
  };
  // A table of labels. Each label combines `num_parts` labels, one per child.
  struct Labels {
    std::vector<Label> list;
    std::vector<std::int64_t> bytes;
    std::vector<std::uint32_t> parts;

    void clear();
  };
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  struct Child {
    Range range;
    double least;  // least priced cost of its labels
  };

  bool affordable(std::size_t num_labels) const;
  bool list_entry(std::uint32_t bucket, std::size_t entry, std::span<const double> sums);
  void begin_label(std::uint32_t bucket, std::uint32_t strategy, double sum);
  bool combine_all(double outside);
  bool combine(std::size_t child, double outside);
  void keep(Labels& labels, std::size_t num_parts);
  void remove_dominated(Labels& labels, std::size_t num_parts);
  void append(const Labels& from, Labels& to, std::size_t num_parts) const;
  End pick();
  void unfold(std::uint32_t bucket, std::uint32_t label);

  const BucketTree* tree_;
  const MemoryPrices* memory_;
  std::size_t max_labels_;
  LabelParameters parameters_;
  std::size_t rows_;                  // number of limits with prices
  std::size_t times_;                 // of these, the limits of time points; they come first
  std::vector<std::int64_t> limits_;  // by row
  double granted_;                    // sum of price times limit
  std::vector<double> costs_;         // priced costs, by flat strategy
  BucketTables tables_;
  double cutoff_ = 0;
  std::uint64_t combinations_ = 0;  // made in all calls
  std::vector<std::uint32_t> choice_;
  double cost_ = 0;
  std::vector<std::vector<Range>> lists_;  // by bucket and entry: range of labels_
  Labels labels_;
  // Scratch.
  std::vector<Child> children_;
  Labels partial_, next_, entry_, kept_;
  std::vector<std::uint32_t> order_, by_cost_;
};

}  // namespace shardwright::operators
