// How much of a tensor moves when it is cut and placed anew.
#pragma once

#include <cstdint>
#include <functional>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/sharding_option.h"

namespace shardwright {

// A cut of a tensor with the rank of every shard; both are borrowed.
struct PlacedLayout {
  const embedding::ShardLayout* layout = nullptr;  // null where nobody knows the cut
  std::function<std::int64_t(std::uint32_t shard)> rank_of;
};

// Elements that the ranks of `to` do not hold already: the area of each shard less what the shards
// of `from` on the same rank cover, where it is known. O(shards x shards on one rank).
std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to);

// Bytes of so many elements of `bits` each, rounded down.
std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits);

}  // namespace shardwright
