// The state of one rank: what it holds, what it may hold, and when it is too full.
#pragma once

#include <algorithm>
#include <cstdint>

#include "search/embedding/model/context/shard_use.h"

namespace shardwright::embedding {

// Capacity is what the reservation leaves; it may be negative. A rank that holds nothing fits
// whatever its capacity is. The load is a running sum: its last digits depend on the order of
// changes.
// Thread safety: a value.
struct RankState {
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
  std::int64_t hbm_capacity = 0;
  std::int64_t ddr_capacity = 0;

  // Adds (sign 1) or removes (sign -1) a shard that counts `own_load` on this rank.
  void change(int sign, double own_load, std::int64_t hbm, std::int64_t ddr) {
    load += sign * own_load;
    hbm_bytes += sign * hbm;
    ddr_bytes += sign * ddr;
  }
  void clear() {
    load = 0;
    hbm_bytes = ddr_bytes = 0;
  }

  // Returns true if the rank can hold this many bytes in total.
  bool holds(std::int64_t hbm, std::int64_t ddr) const {
    return (hbm <= hbm_capacity && ddr <= ddr_capacity) || (hbm == 0 && ddr == 0);
  }
  bool fits() const { return holds(hbm_bytes, ddr_bytes); }
  bool has_room_for(const ShardUse& use) const {
    return holds(hbm_bytes + use.hbm_bytes, ddr_bytes + use.ddr_bytes);
  }
  // Bytes beyond the capacity, HBM and DDR together.
  std::int64_t excess_bytes() const {
    if (hbm_bytes == 0 && ddr_bytes == 0) return 0;
    return std::max<std::int64_t>(hbm_bytes - hbm_capacity, 0) +
           std::max<std::int64_t>(ddr_bytes - ddr_capacity, 0);
  }
};

}  // namespace shardwright::embedding
