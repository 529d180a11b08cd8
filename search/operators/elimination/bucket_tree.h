// Bucket elimination of a whole cost instance, for graphs of small width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/bucket_sum.h"
#include "search/operators/elimination/buckets.h"

namespace shardwright::operators {

// How the order of elimination is found. An order whose tables fit takes far less work than the
// limit; more work means that the graph is wide.
// Thread safety: a value.
struct TableOrderParameters {
  // The score of a node is the logarithm of the table entries that eliminating it takes, plus, for
  // every edge that it adds, this part of the product of the logarithms of the sizes of its ends.
  double fill_weight = 0.3;
  // Pairs of neighbours that may be looked at: so many, and so many per node.
  std::size_t most_work = 20'000'000;
  std::size_t work_per_node = 200;
};

// The nodes of an instance in an order of elimination, and their edges as tables of the buckets.
// Thread safety: const members may be called from any thread.
class BucketTree {
 public:
  // Returns nothing if the tables would have more than `max_entries` entries before minimisation,
  // or if finding an order takes too much work, or if the budget is interrupted meanwhile.
  static std::optional<BucketTree> make(const CostInstance& instance, double max_entries,
                                        const TableOrderParameters& parameters = {},
                                        const Budget& budget = {});

  const CostInstance& instance() const { return *instance_; }
  const Buckets& buckets() const { return buckets_; }  // variable = node
  // The costs of an edge, laid out as the bucket that sums it has them.
  const double* edge_costs(std::uint32_t edge) const {
    return edge_costs_.data() + first_edge_cost_[edge];
  }
  // Factors of the bucket that are messages, by the bucket that they come from.
  std::span<const std::uint32_t> children(const Buckets::Bucket& bucket) const {
    return std::span(children_).subspan(bucket.first_factor, bucket.num_children);
  }
  // Where the strategies of a node begin in a flat list of node costs.
  std::size_t first_cost(std::uint32_t node) const { return first_cost_[node]; }
  std::size_t num_costs() const { return num_costs_; }

 private:
  void lay_out_edges(const EliminationOrder& order);
  void list_children();

  const CostInstance* instance_ = nullptr;
  Buckets buckets_;
  std::vector<double> edge_costs_;
  std::vector<std::size_t> first_edge_cost_;  // by edge
  std::vector<std::uint32_t> children_;       // factors; a bucket's begin at its first_factor
  std::vector<std::size_t> first_cost_;
  std::size_t num_costs_ = 0;
};

// The messages towards the roots and, on request, those from the roots back.
// Thread safety: one thread at a time.
class BucketTables {
 public:
  explicit BucketTables(const BucketTree& tree);

  // Minimises with these node costs (flat, see BucketTree::first_cost). Returns the minimum and a
  // choice that has it; infinite if everything is forbidden.
  double minimize(std::span<const double> costs, std::vector<std::uint32_t>& choice);
  // After minimize: for every bucket and assignment of its separator, the least that everything
  // outside the bucket's subtree costs.
  void compute_outside();

  double message(std::uint32_t bucket, std::size_t entry) const {
    return messages_[tree_->buckets()[bucket].first_message + entry];
  }
  double outside(std::uint32_t bucket, std::size_t entry) const {
    return outside_[tree_->buckets()[bucket].first_message + entry];
  }

  // Calls visit(entry, sums) for every assignment of the bucket's separator for which wanted(entry)
  // holds: sums[s] is the least cost of the subtree if the bucket's node takes s.
  template <class Wanted, class Visit>
  void for_each_entry(std::uint32_t bucket, const Wanted& wanted, const Visit& visit) {
    const Buckets::Bucket& b = tree_->buckets()[bucket];
    start(b);
    for (std::size_t entry = 0; entry < b.entries; ++entry) {
      if (wanted(entry)) visit(entry, sum_.sums());
      sum_.advance();
    }
  }

  // Within visit: the entries of factor f at the current assignment, by strategy of the bucket's
  // node.
  const double* row(std::size_t f) const { return sum_.row(f); }
  // Within visit: where the current assignment lies in the table of factor f; add the strategy of
  // the bucket's node.
  std::size_t offset(const Buckets::Bucket& bucket, std::size_t f) const {
    return static_cast<std::size_t>(sum_.row(f) - table(tree_->buckets().factors(bucket)[f]));
  }

 private:
  void start(const Buckets::Bucket& bucket);
  void decode(std::vector<std::uint32_t>& choice);
  void pass_outside(const Buckets::Bucket& bucket, double outside, std::span<const double> sums);
  const double* table(const Buckets::Factor& factor) const {
    return factor.is_message ? messages_.data() + tree_->buckets()[factor.source].first_message
                             : tree_->edge_costs(factor.source);
  }

  const BucketTree* tree_;
  std::span<const double> costs_;
  std::vector<double> messages_;
  std::vector<double> outside_;
  double roots_ = 0;  // sum over the roots' messages
  BucketSum<double> sum_;
};

}  // namespace shardwright::operators
