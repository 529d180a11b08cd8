// What one rank may hold.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace shardwright::embedding {

// A column of the master program: shards on one rank of a class, as (row, count) by rising row. It
// holds rows of one choice per table at most. A row of the first table of a group counts for every
// table of the group.
// Thread safety: a value.
struct RankPattern {
  std::uint32_t rank_class = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shards;
  double load = 0;
};

}  // namespace shardwright::embedding
