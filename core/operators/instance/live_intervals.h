// Reduces the time points of a set of intervals to those that can decide a limit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// [begin, end) in any unit; empty unless begin < end.
struct TimeInterval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool empty() const { return begin >= end; }
};

struct CompressedIntervals {
  std::vector<LiveInterval> intervals;  // in the given order; empty ones stay empty
  std::uint32_t num_time_points = 0;
};

// Keeps a time point only if no other one is covered by all of its intervals and more. A limit that
// holds at the kept time points holds at all others. They are the points after an interval has
// begun and before the next one ends (the maximal cliques of the interval graph). O(n log n).
CompressedIntervals compress(std::span<const TimeInterval> intervals);

}  // namespace shardwright::operators
