#include "core/operators/instance/live_intervals.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardwright::operators {
namespace {

// The begins that are followed by an end before the next begin, ascending.
std::vector<std::int64_t> decisive_times(std::span<const TimeInterval> intervals) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const TimeInterval& interval : intervals) {
    if (interval.empty()) continue;
    begins.push_back(interval.begin);
    ends.push_back(interval.end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<std::int64_t> times;
  std::size_t e = 0;
  for (std::size_t b = 0; b < begins.size(); ++b) {
    while (ends[e] <= begins[b])
      ++e;
    if (b + 1 == begins.size() || ends[e] <= begins[b + 1]) {
      if (times.empty() || times.back() != begins[b]) times.push_back(begins[b]);
    }
  }
  return times;
}

}  // namespace

CompressedIntervals compress(std::span<const TimeInterval> intervals) {
  const std::vector<std::int64_t> times = decisive_times(intervals);
  const auto index_of = [&](std::int64_t time) {
    return static_cast<std::uint32_t>(std::lower_bound(times.begin(), times.end(), time) -
                                      times.begin());
  };
  CompressedIntervals compressed;
  compressed.intervals.reserve(intervals.size());
  for (const TimeInterval& interval : intervals) {
    compressed.intervals.push_back(
        interval.empty() ? LiveInterval{}
                         : LiveInterval{index_of(interval.begin), index_of(interval.end)});
  }
  compressed.num_time_points = static_cast<std::uint32_t>(times.size());
  return compressed;
}

}  // namespace shardwright::operators
