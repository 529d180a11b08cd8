// A proof that no plan rates better than a bound, and its check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// What a rank pays: per unit of load (milliseconds, or bytes for the storage model), per byte.
struct RankPrices {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
};

// What one shard of `run` of an option is worth. For an option that has a shard on every rank,
// `run` is the class of ranks instead; for one that fills whole hosts it is 0.
struct ShardWorth {
  OptionId option;
  std::uint32_t run = 0;
  double worth = 0;
};

// An option, and the classes of ranks where it may be, as bits.
struct BoundPart {
  OptionId option;
  std::uint32_t classes = 0;
};

// One box of a tree over the choices of tables. An inner node cuts: its first child keeps of
// `table` only `parts`, its second child all but these. An option is cut at places only where it
// must be in one of them: a single shard, or the shards that one host holds. A leaf shows that its
// box is empty:
// - `shards` empty: a shard is worth what a rank pays for it, `prices` by class of ranks. All
// tables,
//   each by its cheapest option, are worth more than all ranks can pay.
// - otherwise a shard has a worth of its own, and no rank of class c holds shards of more than
//   `most_worth[c]`; `prices` then only speed up the check of that.
struct BoundNode {
  bool is_leaf = true;
  TableId table;
  std::vector<BoundPart> parts;
  std::vector<RankPrices> prices;
  std::vector<ShardWorth> shards;
  std::vector<double> most_worth;
};

// "Every plan rates at least `bound`": a tree in preorder whose leaves show that less is
// impossible. Ranks of one class have the same shards of options that are everywhere; a class is as
// large as the largest of its ranks.
struct BoundCertificate {
  double bound = 0;
  std::vector<std::uint32_t> class_of_rank;
  std::vector<BoundNode> nodes;
};

// What is wrong with the proof, or nothing. Knows nothing of the search that found it: recomputes
// loads from the options, rounds every sum to the side that weakens the proof, and bounds the worth
// of a rank's shards by a search of its own. Leaves out only options that another one of the same
// table can replace wherever they stand, and those without any place by the rules of their table
// alone (may_have_place); other rules are not used: they only add to the bound. A rank whose time
// counts more may hold less. The rating of `evaluate` may lie below the exact sum by rounding; the
// proof covers that.
// Cost: O(leaves x options) for leaves without `shards`; with them, exponential in the worst case
// and given up, as not proved, after `work_limit` steps.
std::optional<std::string> check_bound(const SearchSpace& space, const Topology& available,
                                       const BoundCertificate& certificate,
                                       std::uint64_t work_limit = std::uint64_t{1} << 32);

}  // namespace shardwright::embedding
