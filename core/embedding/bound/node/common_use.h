// What every rank of a class holds, whatever the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/node/open_options.h"
#include "core/embedding/bound/node/rank_use.h"

namespace shardwright::embedding {

// A table all of whose open options have a shard on every rank takes at least the cheapest of these
// shards on every rank. A pinned table does so on the ranks of its class. Where ranks are apart, a
// table all of whose open options have a shard on a rank takes at least the cheapest one there.
// Thread safety: immutable.
class CommonUse {
 public:
  explicit CommonUse(const OpenOptions& options);

  // Of all tables.
  const RankUse& on(std::size_t rank_class) const { return all_[rank_class]; }
  // Of all tables but one, rounded down.
  RankUse on_beside(std::size_t rank_class, std::size_t table) const;

 private:
  std::vector<RankUse> use_of_table(const OpenOptions& options, std::size_t table) const;
  std::vector<RankUse> use_of_placed(const OpenOptions& options, std::size_t table) const;
  RankUse smallest_of(const OpenOptions& options, std::size_t table) const;

  std::vector<RankUse> all_;                    // by class
  std::vector<std::vector<RankUse>> of_table_;  // by class; empty if it takes nothing everywhere
};

}  // namespace shardwright::embedding
