// Exact minimisation over graphs of small width: one table per eliminated node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Nodes in an order of elimination. When its turn comes, a node is minimised out of the sum of its
// cost, its edges to nodes that come later, and the tables of earlier nodes that mention it; the
// result is a table over its separator. Source: Dechter, Bucket elimination, 1999; min-fill order.
// Thread safety: const members may be called from any thread.
class BucketTree {
 public:
  static constexpr std::uint32_t kRoot = ~std::uint32_t{0};

  // A table that a bucket sums: element base + sum of stride[i] * (strategy of variable i) +
  // strategy of the bucket's node.
  struct Factor {
    std::uint32_t child = kRoot;       // the bucket whose message it is, or kRoot: an edge
    std::vector<double> edge_costs;    // of an edge, the bucket's node innermost
    std::vector<std::size_t> strides;  // by separator variable
  };
  struct Bucket {
    std::uint32_t node = 0;
    std::uint32_t parent = kRoot;          // the bucket that takes its message
    std::vector<std::uint32_t> separator;  // nodes; the one eliminated first comes last
    std::vector<std::uint32_t> sizes;      // strategies of each
    std::vector<Factor> factors;
    std::size_t num_children = 0;
    std::size_t entries = 1;  // of the message
  };

  // Nothing where the tables would have more than `max_entries` entries before minimisation.
  static std::optional<BucketTree> make(const CostInstance& instance, double max_entries);

  std::span<const Bucket> buckets() const { return buckets_; }  // in order of elimination
  const CostInstance& instance() const { return *instance_; }
  // Where the strategies of a node begin in a flat list of node costs.
  std::size_t first_cost(std::uint32_t node) const { return first_cost_[node]; }
  std::size_t num_costs() const { return num_costs_; }

 private:
  const CostInstance* instance_ = nullptr;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> first_cost_;
  std::size_t num_costs_ = 0;
};

// The tables of one set of node costs, and what follows from them.
// Thread safety: none.
class BucketTables {
 public:
  explicit BucketTables(const BucketTree& tree);

  // Minimises with these node costs (flat, see BucketTree::first_cost): the minimum, and a choice
  // that has it. Infinite where everything is forbidden.
  double minimize(std::span<const double> costs, std::vector<std::uint32_t>& choice);
  // After minimize: for every bucket and assignment of its separator, the least that everything
  // outside its subtree costs.
  void compute_outside();

  double message(std::uint32_t bucket, std::size_t entry) const { return messages_[bucket][entry]; }
  double outside(std::uint32_t bucket, std::size_t entry) const { return outside_[bucket][entry]; }

  // Calls visit(entry, sums) for every assignment of the bucket's separator for which wanted(entry)
  // holds: sums[s] is the least cost of the subtree where the bucket's node takes s.
  template <class Wanted, class Visit>
  void for_each_entry(std::uint32_t bucket, const Wanted& wanted, const Visit& visit) {
    const BucketTree::Bucket& b = tree_->buckets()[bucket];
    start(b);
    for (std::size_t entry = 0; entry < b.entries; ++entry) {
      if (wanted(entry)) {
        sum_up(b);
        visit(entry, std::as_const(sums_));
      }
      advance(b);
    }
  }

  // Where the current assignment of for_each_entry, or that of `choice`, lies in the table of a
  // factor; add the strategy of the bucket's node.
  std::size_t offset(std::size_t factor) const { return offsets_[factor]; }

 private:
  void start(const BucketTree::Bucket& bucket);
  void sum_up(const BucketTree::Bucket& bucket);
  double least_sum() const;
  void advance(const BucketTree::Bucket& bucket);
  void decode(std::vector<std::uint32_t>& choice);
  const double* table(const BucketTree::Factor& factor) const {
    return factor.child == BucketTree::kRoot ? factor.edge_costs.data()
                                             : messages_[factor.child].data();
  }

  const BucketTree* tree_;
  std::span<const double> costs_;
  std::vector<std::vector<double>> messages_;  // by bucket
  std::vector<std::vector<double>> outside_;
  double roots_ = 0;  // sum over the roots' messages
  // Of for_each_entry.
  std::vector<std::uint32_t> values_;  // strategies of the separator
  std::vector<const double*> tables_;  // by factor
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> strides_;  // by variable and factor
  std::vector<double> sums_;
};

}  // namespace shardwright::operators
