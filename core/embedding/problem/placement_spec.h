// What a user demands of where shards are: described, not yet checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_pointer.h"

namespace shardwright::embedding {

// The ranks on which one shard of a table may be, by its number.
struct ShardRanks {
  std::int64_t shard = 0;
  std::vector<std::int64_t> ranks;
};

// Of one table; what is not given is free. Replicas and empty shards count as shards. A shard must
// satisfy all that names it.
struct TablePlacement {
  std::optional<std::vector<std::int64_t>> ranks;  // on which any shard may be
  std::optional<std::vector<std::int64_t>> hosts;
  std::vector<ShardRanks> shard_ranks;  // says nothing of options without such a shard
  std::optional<std::int64_t> max_shards;
  bool distinct_ranks = false;  // no two shards on one rank

  bool any() const {
    return ranks || hosts || !shard_ranks.empty() || max_shards || distinct_ranks;
  }
};

enum class GroupScope : std::uint8_t { kRank, kHost };

// Tables that belong on one rank or host with all their shards, or of which no rank or host may
// hold shards of two. A name that several modules have stands for each of these tables.
struct TableGroup {
  std::vector<std::string> tables;
  GroupScope on = GroupScope::kRank;
};

// The JSON pointer to the constraints of a table in a problem file.
inline std::string constraints_place(std::string_view table) {
  return "/constraints/" + pointer_token(table);
}

}  // namespace shardwright::embedding
