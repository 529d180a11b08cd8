// The user's placement constraints, as given and not yet checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_pointer.h"

namespace shardwright::embedding {

// The ranks allowed for shard number `shard` of a table.
struct ShardRanks {
  std::int64_t shard = 0;
  std::vector<std::int64_t> ranks;
};

// Placement constraints of one table. A constraint that is not given does not restrict. Replicas
// and empty shards count as shards. A shard must satisfy all constraints that apply to it.
struct TablePlacement {
  std::optional<std::vector<std::int64_t>> ranks;  // allowed for every shard
  std::optional<std::vector<std::int64_t>> hosts;
  std::vector<ShardRanks> shard_ranks;  // no effect on options that lack this shard
  std::optional<std::int64_t> max_shards;
  bool distinct_ranks = false;  // no two shards on one rank

  bool any() const {
    return ranks || hosts || !shard_ranks.empty() || max_shards || distinct_ranks;
  }
};

enum class GroupScope : std::uint8_t { kRank, kHost };

// Under keep_together: all shards of all tables share one rank or host. Under keep_apart: no two
// tables share a rank or host. A name that occurs in several modules means each of these tables.
struct TableGroup {
  std::vector<std::string> tables;
  GroupScope on = GroupScope::kRank;
};

// The JSON pointer to the constraints of a table in a problem file.
inline std::string constraints_place(std::string_view table) {
  return "/constraints/" + pointer_token(table);
}

}  // namespace shardwright::embedding
