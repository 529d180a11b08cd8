// Intervals of time in as few time points as tell the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Half-open, in any unit; empty unless begin < end.
struct TimeInterval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool empty() const { return begin >= end; }
};

struct CompressedIntervals {
  std::vector<LiveInterval> intervals;  // in the order given; empty ones stay empty
  std::uint32_t num_time_points = 0;
};

// Keeps the time points at which the set of intervals that hold is contained in that of no other
// time: a limit that is kept at these is kept always. They are where something has just begun and
// something ends next (the maximal cliques of the interval graph). O(n log n).
CompressedIntervals compress(std::span<const TimeInterval> intervals);

}  // namespace shardwright::operators
