// The messages of a bucket tree for one set of node costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/elimination/bucket_sum.h"
#include "search/operators/elimination/bucket_tree.h"

namespace shardwright::operators {

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
