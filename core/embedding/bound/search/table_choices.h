// What every table may choose in a plan below a target, and on which ranks its shards may be.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// Consecutive shards of an option with equal costs and equal ranks that may hold them.
struct EqualShards {
  std::uint32_t count = 0;
  double load = 0;
  double hbm = 0;  // bytes; exact
  double ddr = 0;
  std::vector<std::uint8_t> ranks;  // 1 where a shard may be on the rank
};

// Where the shards of an option lie together.
enum class Form : std::uint8_t {
  kFree,        // anywhere
  kOneHost,     // on ranks of one host
  kWholeHosts,  // shard i of a block of local_world_size on rank i of a host
  kInOrder,     // shard i on rank i
};

struct TableChoice {
  OptionId option;
  Form form = Form::kFree;
  // Single ones for kInOrder. For kWholeHosts, local_world_size in a row are a block, and the count
  // is that of equal blocks.
  std::vector<EqualShards> shards;
};

struct ChoicesOfTable {
  TableId table;
  bool distinct_ranks = false;
  std::vector<TableChoice> choices;
};

// A set of tables, as bits: positions in all_choices().
using TableSet = std::uint64_t;

// The tables of the space that have options. An option is left out if its form does not fit the
// machine, if max_shards forbids it, if a shard of it fits on no rank that its table's rules allow,
// or if another option of as many shards, free to be anywhere, costs no more shard by shard. The
// last is safe under all rules: they name shards by number. Empty if there are more than 63 tables.
std::vector<ChoicesOfTable> all_choices(const SearchSpace& space, const Topology& available,
                                        double target);

// The factor by which the rating multiplies a rank's load.
double time_scale_of(const ProblemSpec& spec, std::size_t rank);

}  // namespace shardwright::embedding
