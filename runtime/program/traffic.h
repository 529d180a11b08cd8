// What the communication that a resharded program gained moves, and how long it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "search/program/reshard_program.h"

namespace shardwright {

// Of the inserted operators of a rank. Operators in a loop count once, local ones not at all. A
// collective of n ranks moves (n - 1) / n of its tensor, an all-reduce twice that.
struct RankTraffic {
  std::int64_t sent_bytes = 0;
  std::int64_t received_bytes = 0;
  double us = 0;  // under the cost model of resharding, one operator after the other
};

// By rank of the result. O(operators of all ranks + groups).
std::vector<RankTraffic> traffic_of(const program::ReshardResult& result,
                                    const program::Cluster& cluster = {});

}  // namespace shardwright
