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
  Storage held;
  Storage capacity;

  // Adds (sign 1) or removes (sign -1) a shard that counts `own_load` on this rank.
  void change(int sign, double own_load, Storage storage) {
    load += sign * own_load;
    held += sign * storage;
  }
  void clear() {
    load = 0;
    held = {};
  }

  // Returns true if the rank can hold this many bytes in total.
  bool holds(Storage storage) const { return storage.fits_in(capacity) || storage == Storage(); }
  bool fits() const { return holds(held); }
  bool has_room_for(const ShardUse& use) const { return holds(held + use.storage); }
  // Bytes beyond the capacity, all tiers together.
  std::int64_t excess_bytes() const {
    if (held == Storage()) return 0;
    return most_of(held - capacity, Storage()).sum().value();
  }
};

}  // namespace shardwright::embedding
