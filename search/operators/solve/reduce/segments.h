// What a node holds over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Bytes that the strategies of a node hold during an interval.
struct Segment {
  LiveInterval live;
  std::vector<std::int64_t> bytes;  // by strategy
};

// Replaces segments that overlap by disjoint ones, ordered by time, with the sums of their bytes.
// Neighbours with equal bytes become one.
void make_disjoint(std::vector<Segment>& segments, std::size_t num_strategies);

}  // namespace shardwright::operators
