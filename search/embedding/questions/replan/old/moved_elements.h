// Counts how much of a tensor moves when its shards change.
#pragma once

#include <cstdint>
#include <functional>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// A cut of a tensor with the rank of every shard; both are borrowed.
struct PlacedLayout {
  const ShardLayout* layout = nullptr;  // null if the cut is not known
  std::function<std::int64_t(std::uint32_t shard)> rank_of;
};

// The elements that the ranks of `to` do not hold yet: the area of each shard without what the
// shards of `from` on the same rank cover. All elements count if `from` is not known. O(shards x
// shards on one rank).
std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to);

// The bytes of elements of `bits` each, rounded down.
std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits);

}  // namespace shardwright::embedding
