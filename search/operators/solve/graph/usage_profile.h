// What a choice holds at every time point, against the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace shardwright::operators {

// Excess over the limit (negative: room left) by time point: changes and maxima of ranges in
// O(log times). A segment tree without pushes, so that queries write nothing.
// Thread safety: const members may be called from any thread.
class UsageProfile {
 public:
  // Lower than any excess, and so far from the lowest value that sums of bytes do not get there.
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min() / 4;

  // Nothing is held yet.
  explicit UsageProfile(std::span<const std::int64_t> limits);

  // Preconditions of the following: begin < end <= number of time points.
  void add(std::size_t begin, std::size_t end, std::int64_t bytes);
  std::int64_t max_excess(std::size_t begin, std::size_t end) const;
  // The first time point in the range whose excess is the largest there.
  std::size_t most_exceeded(std::size_t begin, std::size_t end) const;

  // Over all time points; kNothing where there are none.
  std::int64_t max_excess() const { return num_times_ == 0 ? kNothing : largest_[1]; }
  std::size_t num_times() const { return num_times_; }

 private:
  void refresh(std::size_t i);

  std::size_t num_times_;
  std::size_t leaves_;                 // a power of two; time point t is leaf t + 1
  std::vector<std::int64_t> largest_;  // below a vertex, with what was added at and below it
  std::vector<std::int64_t> added_;    // to the whole range of a vertex
};

}  // namespace shardwright::operators
