// The bytes that a choice holds at every time point, relative to the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace shardwright::operators {

// The excess over the limit by time point; negative = room left. Adds to ranges and finds their
// maxima in O(log times): a segment tree without lazy propagation, so queries write nothing. Thread
// safety: const members may be called from any thread.
class UsageProfile {
 public:
  // Lower than any excess, with enough distance to the least value that sums cannot overflow.
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min() / 4;

  // Nothing is held yet.
  explicit UsageProfile(std::span<const std::int64_t> limits);

  // Preconditions of the following: begin < end <= number of time points.
  void add(std::size_t begin, std::size_t end, std::int64_t bytes);
  std::int64_t max_excess(std::size_t begin, std::size_t end) const;
  // The first time point in the range whose excess is the largest there.
  std::size_t most_exceeded(std::size_t begin, std::size_t end) const;

  // Over all time points; kNothing if there are none.
  std::int64_t max_excess() const { return num_times_ == 0 ? kNothing : largest_[1]; }
  std::size_t num_times() const { return num_times_; }

 private:
  void refresh(std::size_t i);

  std::size_t num_times_;
  std::size_t leaves_;  // a power of two; time point t is leaf t + 1
  std::vector<std::int64_t>
      largest_;  // by vertex: the maximum of its range without additions above it
  std::vector<std::int64_t> added_;  // to the whole range of a vertex
};

}  // namespace shardwright::operators
