// The kernel of variable elimination: sums the tables of a bucket over its variable.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/elimination/buckets.h"

namespace shardwright::operators {

// Walks over the assignments of a bucket's separator, the last variable fastest, and sums the
// bucket's tables there. Partial sums are kept by level: an assignment that changes only the last
// variables adds only the tables that depend on these. A sum starts with the own costs and adds the
// tables by level, so it does not depend on the steps before.
// Keeps its memory from bucket to bucket. Thread safety: one thread at a time.
template <class Cost>
class BucketSum {
 public:
  // Begins at the assignment of all zeros. `own` are the costs of the variable itself;
  // `table(f)` points to the entries of factor f. Both must outlive the walk.
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

  // Goes to an assignment: value(i) is that of variable i of the separator.
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

  // The sums at the present assignment, by value of the bucket's variable.
  std::span<const Cost> sums() {
    const std::size_t depth = values_.size();
    return {refresh(depth), shape_.own_size};
  }

  // Minimises the bucket's variable out: message[entry] is the least of sums() at that assignment.
  // Precondition of both: the walk is at its beginning; it ends there too.
  void send(Cost* message) {
    sweep([&](std::size_t entry, const auto& sum) { message[entry] = least_of(sum); });
  }
  // Also the first value that has this cost. Slower.
  void send(Cost* message, std::uint32_t* argument) {
    sweep([&](std::size_t entry, const auto& sum) {
      argument[entry] = argument_of(sum, message[entry]);
    });
  }

  // The entries of factor f at the present assignment, by value of the bucket's variable.
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

  // Sums of the levels up to `level`, which must not be beyond the depth.
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

  // Calls use(entry, sum) at every assignment, where sum(s) is that of sums(). The last table is
  // not added beforehand: a sum that is read once need not be stored.
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
    // The usual case: only one table depends on the last variable, so its rows follow each other.
    for (std::size_t entry = 0; entry < entries; advance(depth - 1)) {
      const Cost* below = refresh(depth - 1);
      const Cost* last = rows_[first];
      for (std::uint32_t k = 0; k < shape_.sizes[depth - 1]; ++k, ++entry) {
        use(entry, [below, last](std::size_t s) { return below[s] + last[s]; });
        last += shape_.own_size;
      }
    }
  }

  // Two minima side by side do not wait for each other.
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
  std::vector<const Cost*> rows_;         // by factor, at the present assignment
  std::vector<std::uint32_t> values_;     // the present assignment
  std::vector<std::size_t> level_begin_;  // of factors
  std::vector<Cost> partial_;             // [level * own_size + value]
  std::vector<const Cost*> by_level_;     // by level: its partial sums, or those of a level below
  std::size_t valid_ = 0;                 // the first level whose sums are out of date
};

}  // namespace shardwright::operators
