// Bucket elimination: the tables of each bucket, their layout, and the elimination itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/elimination_order.h"

namespace shardwright::operators {

// The layout of a bucket's tables, which are called factors, for a walk over the assignments of the
// bucket's separator (see Buckets).
struct BucketShape {
  std::uint32_t own_size = 1;            // number of values of the variable to minimise out
  std::span<const std::uint32_t> sizes;  // number of values, by separator variable
  // By factor, ascending: a factor of level k depends on the first k variables of the separator.
  std::span<const std::uint32_t> levels;
  // [variable of the separator * factors + factor]: the stride of the variable in the factor; 0 if
  // the factor does not depend on the variable.
  const std::size_t* strides = nullptr;
};

// One bucket per variable, in order of elimination. A bucket adds the costs of its variable, pair
// tables with variables that are eliminated later, and the messages of earlier buckets that depend
// on the variable. It minimises its variable out of this sum. The result, its message, is a table
// over the separator: the later variables that occur in the sum. In every table the variable
// eliminated first varies fastest, and the variable eliminated last slowest. So the parent bucket
// reads a message without reordering it. Source: Dechter, Bucket elimination: a unifying framework
// for reasoning, 1999. Thread safety: const members may be called from any thread.
class Buckets {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Pair {
    std::uint32_t first;  // variable; both are in the order
    std::uint32_t second;
  };
  struct Factor {
    std::uint32_t source;  // index of the pair, or of the bucket that sends the message
    bool is_message;
  };
  struct Bucket {
    std::uint32_t variable = 0;
    std::uint32_t parent = kNone;  // the bucket that takes the message; kNone: a root
    std::uint32_t own_size = 1;
    std::uint32_t depth = 0;  // number of variables of the separator
    std::uint32_t num_factors = 0;
    std::uint32_t num_children = 0;
    std::size_t entries = 1;  // number of entries of the message
    std::size_t first_message = 0;
    std::size_t first_scope = 0;
    std::size_t first_factor = 0;
    std::size_t first_stride = 0;
  };

  // `sizes`: by variable, the number of its values. Reuses the memory of earlier calls. O(sum over
  // buckets of factors * depth).
  void build(const EliminationOrder& order, std::span<const std::uint32_t> sizes,
             std::span<const Pair> pairs);

  std::span<const Bucket> list() const { return buckets_; }
  const Bucket& operator[](std::size_t bucket) const { return buckets_[bucket]; }
  std::size_t size() const { return buckets_.size(); }
  // The entries of all messages. Those of a bucket's message begin at `first_message`.
  std::size_t num_entries() const { return num_entries_; }

  // The variables of the bucket's separator, from the last eliminated to the first.
  std::span<const std::uint32_t> separator(const Bucket& bucket) const {
    return std::span(scopes_).subspan(bucket.first_scope, bucket.depth);
  }
  // The bucket's factors by level. Within a level: pairs by index, then messages.
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

// Walks over the assignments of a bucket's separator, the last variable fastest, and sums the
// bucket's tables at each assignment. Partial sums are kept by level, so only the tables that
// depend on changed variables are added again. A sum always adds the variable's own costs first and
// then the tables by level, so its rounding does not depend on the walk. Keeps its memory from
// bucket to bucket. Thread safety: one thread at a time.
template <class Cost>
class BucketSum {
 public:
  // Begins a walk at the assignment of all zeros. `own`: the costs of the bucket's variable.
  // `table(f)` points to the entries of factor f. The costs and tables must outlive the walk.
  template <class TableOf>
  void start(const BucketShape& shape, const Cost* own, const TableOf& table) {
    shape_ = shape;
    own_ = own;
    const std::size_t count = shape.levels.size();
    const std::size_t depth = shape.sizes.size();
    rows_.resize(count);
    for (std::size_t f = 0; f < count; ++f)
      rows_[f] = table(f);
    if (partial_.size() < (depth + 1) * shape.own_size)
      partial_.resize((depth + 1) * shape.own_size);
    values_.assign(depth, 0);
    by_level_.resize(depth + 1);
    level_begin_.resize(depth + 2);
    std::uint32_t f = 0;
    for (std::uint32_t level = 0; level < depth + 2; ++level) {
      while (f < count && shape.levels[f] < level)
        ++f;
      level_begin_[level] = f;
    }
    valid_ = 0;
  }

  // Goes to the assignment in which variable i of the separator has value(i).
  // Precondition: the walk is at its beginning.
  template <class ValueOf>
  void seek(const ValueOf& value) {
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = value(i);
      for (std::size_t f = level_begin_[i + 1]; f < count; ++f)
        rows_[f] += shape_.strides[i * count + f] * values_[i];
    }
  }

  // Goes to the next assignment; after the last one, back to the first.
  void advance() { advance(values_.size()); }

  // Returns the sums at the current assignment, by value of the bucket's variable.
  std::span<const Cost> sums() {
    const std::size_t depth = values_.size();
    return {refresh(depth), shape_.own_size};
  }

  // Minimises the bucket's variable out: sets message[entry] to the least of sums() at each
  // assignment. Precondition of both overloads: the walk is at its beginning. It ends there, too.
  void send(Cost* message) {
    sweep([&](std::size_t entry, const auto& sum) { message[entry] = least_of(sum); });
  }
  // Also sets argument[entry] to the first value of least cost. Slower.
  void send(Cost* message, std::uint32_t* argument) {
    sweep([&](std::size_t entry, const auto& sum) {
      argument[entry] = argument_of(sum, message[entry]);
    });
  }

  // The entries of factor f at the current assignment, by value of the bucket's variable.
  const Cost* row(std::size_t f) const { return rows_[f]; }

 private:
  // Goes to the next assignment of the first `digits` variables.
  void advance(std::size_t digits) {
    const std::size_t count = rows_.size();
    std::size_t i = digits;
    while (i-- > 0) {
      const std::size_t* strides = shape_.strides + i * count;
      const std::size_t first = level_begin_[i + 1];
      if (++values_[i] < shape_.sizes[i]) {
        for (std::size_t f = first; f < count; ++f)
          rows_[f] += strides[f];
        break;
      }
      values_[i] = 0;
      for (std::size_t f = first; f < count; ++f)
        rows_[f] -= strides[f] * (shape_.sizes[i] - std::size_t{1});
    }
    valid_ = std::min(valid_, i + 1);
  }

  // Returns the sums of the factors up to `level`, by value of the bucket's variable. Precondition:
  // `level` is at most the depth.
  const Cost* refresh(std::size_t level) {
    for (; valid_ <= level; ++valid_) {
      const Cost* below = valid_ == 0 ? own_ : by_level_[valid_ - 1];
      const std::size_t first = level_begin_[valid_], end = level_begin_[valid_ + 1];
      Cost* sum = partial_.data() + valid_ * shape_.own_size;
      if (first < end) add(below, first, end, sum);
      by_level_[valid_] = first < end ? sum : below;
    }
    return by_level_[level];
  }

  // Precondition: first < end.
  void add(const Cost* below, std::size_t first, std::size_t end, Cost* sum) const {
    const std::size_t size = shape_.own_size;
    std::size_t f = first;
    if (end - first == 1) {
      const Cost* a = rows_[f++];
      for (std::size_t s = 0; s < size; ++s)
        sum[s] = below[s] + a[s];
    } else {
      const Cost* a = rows_[f++];
      const Cost* b = rows_[f++];
      for (std::size_t s = 0; s < size; ++s)
        sum[s] = below[s] + a[s] + b[s];
    }
    for (; f < end; ++f) {
      const Cost* a = rows_[f];
      for (std::size_t s = 0; s < size; ++s)
        sum[s] += a[s];
    }
  }

  // Calls use(entry, sum) at every assignment, where sum(s) equals sums()[s]. Adds the last table
  // only when sum(s) is read, which saves storing the sums.
  template <class Use>
  void sweep(const Use& use) {
    const std::size_t depth = values_.size();
    const std::size_t first = level_begin_[depth];
    std::size_t entries = 1;
    for (const std::uint32_t size : shape_.sizes)
      entries *= size;
    if (depth == 0 || level_begin_[depth + 1] - first != 1) {
      for (std::size_t entry = 0; entry < entries; ++entry, advance(depth)) {
        const Cost* sums = refresh(depth);
        use(entry, [sums](std::size_t s) { return sums[s]; });
      }
      return;
    }
    // The usual case: only one table depends on the last variable, so its rows are contiguous.
    for (std::size_t entry = 0; entry < entries; advance(depth - 1)) {
      const Cost* below = refresh(depth - 1);
      const Cost* last = rows_[first];
      for (std::uint32_t k = 0; k < shape_.sizes[depth - 1]; ++k, ++entry) {
        use(entry, [below, last](std::size_t s) { return below[s] + last[s]; });
        last += shape_.own_size;
      }
    }
  }

  // Two independent minima halve the chain of dependent instructions.
  template <class SumOf>
  Cost least_of(const SumOf& sum) const {
    const std::size_t size = shape_.own_size;
    Cost least = sum(0), other = least;
    std::size_t s = 1;
    for (; s + 1 < size; s += 2) {
      least = std::min(least, sum(s));
      other = std::min(other, sum(s + 1));
    }
    if (s < size) least = std::min(least, sum(s));
    return std::min(least, other);
  }
  template <class SumOf>
  std::uint32_t argument_of(const SumOf& sum, Cost& cost) const {
    Cost least = sum(0);
    std::uint32_t argument = 0;
    for (std::uint32_t s = 1; s < shape_.own_size; ++s) {
      const Cost at = sum(s);
      if (!(at < least)) continue;
      least = at;
      argument = s;
    }
    cost = least;
    return argument;
  }

  BucketShape shape_;
  const Cost* own_ = nullptr;
  std::vector<const Cost*> rows_;         // by factor, at the current assignment
  std::vector<std::uint32_t> values_;     // the current assignment
  std::vector<std::size_t> level_begin_;  // by level: its first factor
  std::vector<Cost> partial_;             // [level * own_size + value]
  std::vector<const Cost*> by_level_;     // by level: pointer to its sums, maybe of a lower level
  std::size_t valid_ = 0;                 // the first level whose sums are out of date
};

// Parameters of the search for an elimination order. An order whose tables fit is found with far
// less work than the limit, so an instance that reaches the limit is too wide.
// Thread safety: a value.
struct TableOrderParameters {
  // The score of a node is the logarithm of the entries of its table plus a penalty. The penalty is
  // `fill_weight` times, for every edge that the elimination adds, the product of the logarithms of
  // the sizes of both ends.
  double fill_weight = 0.3;
  // Limit of the pairs of neighbours looked at: `most_work` + `work_per_node` * nodes.
  std::size_t most_work = 20'000'000;
  std::size_t work_per_node = 200;
};

// The buckets of an instance, one per node, and the costs of its edges in the layout of the
// buckets. Thread safety: const members may be called from any thread.
class BucketTree {
 public:
  // Returns nullopt if the tables would have more than `max_entries` entries before minimisation,
  // if finding an order takes too much work, or if the budget is interrupted.
  static std::optional<BucketTree> make(const CostInstance& instance, double max_entries,
                                        const TableOrderParameters& parameters = {},
                                        const Budget& budget = {});

  const CostInstance& instance() const { return *instance_; }
  const Buckets& buckets() const { return buckets_; }  // variable = node
  // The costs of an edge in the layout of the bucket that adds them.
  const double* edge_costs(std::uint32_t edge) const {
    return edge_costs_.data() + first_edge_cost_[edge];
  }
  // Indices of the bucket's factors that are messages, in the order of the sending buckets.
  std::span<const std::uint32_t> children(const Buckets::Bucket& bucket) const {
    return std::span(children_).subspan(bucket.first_factor, bucket.num_children);
  }
  // Index of the node's first strategy in a flat list over all nodes and strategies.
  std::size_t first_cost(std::uint32_t node) const { return first_cost_[node]; }
  std::size_t num_costs() const { return num_costs_; }

 private:
  void lay_out_edges(const EliminationOrder& order);
  void list_children();

  const CostInstance* instance_ = nullptr;
  Buckets buckets_;
  std::vector<double> edge_costs_;
  std::vector<std::size_t> first_edge_cost_;  // by edge
  std::vector<std::uint32_t> children_;       // indices of factors, at the bucket's first_factor
  std::vector<std::size_t> first_cost_;
  std::size_t num_costs_ = 0;
};

// The messages from the leaves to the roots and, on request, the messages from the roots back.
// Thread safety: one thread at a time.
class BucketTables {
 public:
  explicit BucketTables(const BucketTree& tree);

  // Minimises the total cost with these node costs (flat, see BucketTree::first_cost). Returns the
  // minimum and sets `choice` to a choice with this cost. Returns infinity if none is allowed.
  double minimize(std::span<const double> costs, std::vector<std::uint32_t>& choice);
  // Call this after minimize(). Computes, for every bucket and assignment of its separator, the
  // least cost of all nodes and edges outside the bucket's subtree.
  void compute_outside();

  double message(std::uint32_t bucket, std::size_t entry) const {
    return messages_[tree_->buckets()[bucket].first_message + entry];
  }
  double outside(std::uint32_t bucket, std::size_t entry) const {
    return outside_[tree_->buckets()[bucket].first_message + entry];
  }

  // Calls visit(entry, sums) for every assignment of the bucket's separator for which wanted(entry)
  // is true. sums[s] is the least cost of the subtree if the bucket's node takes strategy s.
  template <class Wanted, class Visit>
  void for_each_entry(std::uint32_t bucket, const Wanted& wanted, const Visit& visit) {
    const Buckets::Bucket& b = tree_->buckets()[bucket];
    start(b);
    for (std::size_t entry = 0; entry < b.entries; ++entry) {
      if (wanted(entry)) visit(entry, sum_.sums());
      sum_.advance();
    }
  }

  // Within visit(): the entries of factor f at the current assignment, by the node's strategy.
  const double* row(std::size_t f) const { return sum_.row(f); }
  // May be called within visit(): the offset of the current assignment in the table of factor f.
  // The caller adds the strategy of the bucket's node.
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
  double roots_ = 0;  // sum of the roots' messages
  BucketSum<double> sum_;
};

}  // namespace shardwright::operators
