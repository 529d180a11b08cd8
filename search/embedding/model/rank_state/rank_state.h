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
  Storage left;  // of the capacity
  Storage capacity;

  // Adds (sign 1) or removes (sign -1) a shard that counts `own_load` on this rank.
  void change(int sign, double own_load, Storage storage) {
    load += sign * own_load;
    left -= sign * storage;
  }
  void clear() {
    load = 0;
    left = capacity;
  }

  void set_capacity(Storage all) { left = capacity = all; }
  Storage held() const { return capacity - left; }

  bool fits() const { return !left.is_negative() || left == capacity; }
  bool has_room(const Storage& more) const {
    return more.fits_in(left) || held() + more == Storage();
  }
  bool has_room_for(const ShardUse& use) const { return has_room(use.storage); }
  // Bytes beyond the capacity, all tiers together.
  std::int64_t excess_bytes() const {
    return left == capacity ? 0 : most_of(Storage() - left, Storage()).sum().value();
  }
};

}  // namespace shardwright::embedding
