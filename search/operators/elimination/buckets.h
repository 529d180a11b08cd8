// Which tables each bucket of an elimination sums, and where their entries lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/elimination/elimination_order.h"

namespace shardwright::operators {

// What a walk over the assignments of a bucket needs.
struct BucketShape {
  std::uint32_t own_size = 1;            // values of the variable that is minimised out
  std::span<const std::uint32_t> sizes;  // values of each variable of the separator
  // By factor: how many variables of the separator, from the first, it takes to know where it
  // lies. Ascending.
  std::span<const std::uint32_t> levels;
  // [variable of the separator * factors + factor]: how far apart the entries of neighbouring
  // values are, 0 where the factor does not depend on the variable.
  const std::size_t* strides = nullptr;
};

// One bucket per variable in order of elimination. A bucket's variable is minimised out of the sum
// of its own costs, of pair tables with variables that are eliminated later, and of the messages of
// earlier buckets that depend on it. The result, its message, is a table over the separator: the
// later variables that occur in these tables.
// In every table, the bucket's own variable runs fastest, and then the variables by the time of
// their elimination, the latest slowest. So a message fits into the bucket that takes it without
// being reordered.
// Source: Dechter, Bucket elimination: a unifying framework for reasoning, 1999.
// Thread safety: const members may be called from any thread.
class Buckets {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Pair {
    std::uint32_t first;  // variables; both are in the order
    std::uint32_t second;
  };
  struct Factor {
    std::uint32_t source;  // index of the pair, or the bucket whose message it is
    bool is_message;
  };
  struct Bucket {
    std::uint32_t variable = 0;
    std::uint32_t parent = kNone;  // the bucket that takes the message; kNone: a root
    std::uint32_t own_size = 1;
    std::uint32_t depth = 0;  // variables of the separator
    std::uint32_t num_factors = 0;
    std::uint32_t num_children = 0;
    std::size_t entries = 1;  // of the message
    std::size_t first_message = 0;
    std::size_t first_scope = 0;
    std::size_t first_factor = 0;
    std::size_t first_stride = 0;
  };

  // `sizes` are by variable. Reuses the memory of earlier calls. O(sum over buckets of factors *
  // depth).
  void build(const EliminationOrder& order, std::span<const std::uint32_t> sizes,
             std::span<const Pair> pairs);

  std::span<const Bucket> list() const { return buckets_; }
  const Bucket& operator[](std::size_t bucket) const { return buckets_[bucket]; }
  std::size_t size() const { return buckets_.size(); }
  // Entries of all messages; a bucket's begin at its `first_message`.
  std::size_t num_entries() const { return num_entries_; }

  // The variable eliminated first comes last.
  std::span<const std::uint32_t> separator(const Bucket& bucket) const {
    return std::span(scopes_).subspan(bucket.first_scope, bucket.depth);
  }
  // By level; within a level, pairs by index come before messages by bucket.
  std::span<const Factor> factors(const Bucket& bucket) const {
    return std::span(factors_).subspan(bucket.first_factor, bucket.num_factors);
  }
  BucketShape shape(const Bucket& bucket) const {
    return {bucket.own_size, std::span(scope_sizes_).subspan(bucket.first_scope, bucket.depth),
            std::span(levels_).subspan(bucket.first_factor, bucket.num_factors),
            strides_.data() + bucket.first_stride};
  }

 private:
  void add_buckets(const EliminationOrder& order, std::span<const std::uint32_t> sizes);
  void add_factors(const EliminationOrder& order, std::span<const Pair> pairs);
  void place(Bucket& bucket, Factor factor, std::uint32_t level);
  std::uint32_t pair_level(const Bucket& bucket, std::uint32_t other) const;
  std::uint32_t message_level(const Bucket& bucket, const Bucket& child) const;
  void set_strides(const Bucket& bucket);

  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> scopes_;
  std::vector<std::uint32_t> scope_sizes_;
  std::vector<Factor> factors_;
  std::vector<std::uint32_t> levels_;  // by factor
  std::vector<std::size_t> strides_;
  std::size_t num_entries_ = 0;
};

}  // namespace shardwright::operators
