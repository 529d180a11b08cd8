// What one shard adds to the rank that holds it.
#pragma once

#include <cstdint>

#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// Shards of tables without placement rules have no identity, so equal ones are interchangeable.
struct ShardUse {
  static constexpr std::uint32_t kUnruled = ~std::uint32_t{0};

  double load = 0;  // ms on a rank of normal speed; bytes where memory is the load
  Storage storage = {};
  std::uint32_t table = kUnruled;  // as the model numbers it
  std::uint32_t shard = 0;
};

}  // namespace shardwright::embedding
