// What patterns are to hold.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "search/embedding/best/bound/pricing/knapsack.h"

namespace shardwright::embedding {

// Thread safety: a value.
struct PatternDemand {
  // Shards that are counted together.
  struct Row {
    Resources use;    // of one
    double size = 0;  // the same as a part of a rank
    bool fills_hosts = false;
  };
  // One way to shard a table, with the number of shards of each row.
  using Shards = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  // Equal tables, each of which has one of these choices.
  struct Tables {
    std::uint32_t count = 0;
    std::vector<Shards> choices;
  };
  struct Ranks {
    std::uint32_t count = 0;
    Resources room;  // of each, what patterns may use
  };

  std::map<std::uint32_t, Row> rows;  // by number
  std::vector<Tables> tables;
  std::vector<Ranks> classes;
  // Of every host, if shards fill hosts; all of them are of one class then. Otherwise 1.
  std::uint32_t ranks_of_host = 1;
};

// All ranks of a host hold the same shards of choices that fill hosts. These are the host part of a
// pattern.
using HostPart = PatternDemand::Shards;

}  // namespace shardwright::embedding
