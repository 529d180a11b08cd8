// What the capacities of a rank are worth.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/embedding/load_factors.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Lagrangian multipliers of the capacities of a rank: per unit of load (milliseconds, or bytes for
// the storage model) and per byte of each tier of memory. Never negative.
struct CapacityMultipliers {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
  double ssd = 0;

  constexpr double& operator[](MemoryTier tier) { return at_tier(*this, tier); }
  constexpr double operator[](MemoryTier tier) const { return at_tier(*this, tier); }
};

// Divides plans by what uniform options use of every rank of a class: at most this, or at least
// this. See BoundCertificate::uniform_apart.
// Thread safety: a value.
struct UniformSplit {
  std::uint32_t rank_class = 0;
  std::optional<MemoryTier> tier;  // load, if there is none
  double at = 0;                   // load as the rating counts it, or whole bytes
};

// What uniform options may use of every rank of a class.
// Thread safety: a value.
struct UniformUse {
  double least_load = 0;
  double most_load = std::numeric_limits<double>::infinity();
  PerTier<double> least_bytes = {};  // whole numbers
  PerTier<double> most_bytes = {static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes)};

  // Restricts it to one of the two parts.
  void restrict_to(const UniformSplit& split, bool at_most) {
    double& least = split.tier ? least_bytes[*split.tier] : least_load;
    double& most = split.tier ? most_bytes[*split.tier] : most_load;
    if (at_most) {
      most = std::min(most, split.at);
    } else {
      least = std::max(least, split.at);
    }
  }
  Storage least_room() const { return as_storage(least_bytes); }
  Storage most_room() const { return as_storage(most_bytes); }

 private:
  static Storage as_storage(const PerTier<double>& bytes) {
    const auto whole = [](double value) { return Bytes(static_cast<std::int64_t>(value)); };
    return {whole(bytes.hbm), whole(bytes.ddr), whole(bytes.ssd)};
  }
};

// What the check says of a proof that it has not checked to its end.
inline constexpr std::string_view kProofTooLong = "the proof takes too long to check";
inline constexpr std::string_view kProofOfOlderForm =
    "the proof has a form of an earlier version, which is no longer checked; plan again for "
    "another";

// The dual value of one shard of an option. `run` is the run of equal shards in the option's
// layout. For an option with a shard on every rank, `run` is the rank class instead; for one that
// fills whole hosts, it is 0.
struct ShardDual {
  OptionId option;
  std::uint32_t run = 0;
  double value = 0;
};

// An option and the rank classes where its shards may be: bit c stands for class c.
struct OptionDomain {
  OptionId option;
  std::uint32_t classes = 0;
};

// A branch-and-bound node: the options that every table may still use, and where.
//
// Before anything else, a node drops options that no plan below the bound has, for all nodes below
// it:
// - Common use: if all options of a table have a shard on every rank, every rank holds one,
// whatever
//   the plan. What does not fit beside the cheapest of these shards of the other tables goes.
// - Reduced costs, at each of `fixing` in turn: all tables, each with its cheapest option, leave
//   some of what all ranks have. An option that is dearer than the cheapest one of its table by
//   more than that goes.
//
// An inner node branches on how many of `tables` use what `first_child` lists, in terms of the
// options of the first table. The tables are equal: their open options have the same shards, costs
// and domains, so a plan may exchange them. In the first child at least `count` of them use it:
// the first `count` tables keep nothing else. In the second child fewer do: all tables but the
// first `count` - 1 keep everything else. With one table, the two children divide its options. The
// domain of an option may be divided only if the option lies in one place: it has a single shard,
// or one host holds all its shards.
//
// A node with a `uniform_split` has two children, too: in the first one uniform options use at most
// that much of every rank of the class, in the second one at least that much.
//
// A leaf proves that its node contains no plan below the bound, in one of three ways:
// - Lagrangian bound (`shard_duals` is empty): at the multipliers of the rank classes, all tables,
//   each with its cheapest option, need more than all ranks have.
// - Pattern bound: every shard has a dual value. All tables, each with its option of least value,
//   are worth more than the patterns on all ranks can be: a pattern on a rank of class c has at
//   most the value max_pattern_values[c]. Here the multipliers only speed up the check of these
//   maxima. Whole ranks may have a price, too: in a pattern a shard is worth its dual value less
//   what it takes of a whole rank, and all ranks can be worth their patterns and themselves. Where
//   uniform options are apart, a class and its part for them are one whole rank.
// - Search (`by_search`): all plans of the node were tried, and the check tries them again. The
//   multipliers are prices that shorten that. Only without placement rules: equal tables are
//   exchanged, which a rule may forbid.
struct BoundNode {
  bool is_leaf = true;
  std::vector<std::vector<CapacityMultipliers>> fixing;  // each by rank class
  std::vector<TableId> tables;                           // ascending
  std::uint32_t count = 1;
  std::vector<OptionDomain> first_child;
  std::optional<UniformSplit> uniform_split;     // instead of tables
  std::vector<CapacityMultipliers> multipliers;  // by rank class
  std::vector<ShardDual> shard_duals;            // absent shards have the value 0
  std::vector<double> max_pattern_values;        // by rank class
  // Of whole ranks, by rank class without those of uniform options; absent if they have no price.
  std::vector<CapacityMultipliers> whole_multipliers;
  bool by_search = false;  // of a leaf
};

// States that every plan rates at least `bound`. `nodes` is a branch-and-bound tree in preorder
// whose leaves cover all plans. All ranks of a class hold the same shards of an option that has a
// shard on every rank. A class has the capacity of its largest rank. An infinite bound states that
// no plan exists at all; the check then looks for a plan below a rating that none can exceed.
struct BoundCertificate {
  double bound = 0;
  std::vector<std::uint32_t> class_of_rank;
  std::vector<BoundNode> nodes;
  // All plans below the bound were tried, under all placement rules, and the check tries them
  // again. Every node is then a leaf whose multipliers are prices that shorten the search; they
  // need not be good. A bound of rating + weight x GiB moved (check_move_bound) has this form, too.
  bool by_search = false;
  // Over which load factors of caches the proof ranges beside those that constraints name; empty if
  // best mode chooses none.
  std::vector<TableLoadFactors> load_factors{};
  // Options that have a shard on every rank, or fill whole hosts, are uniform: what they use of the
  // ranks of a class differs by rounding only, and they count as their smallest shard there. Every
  // class c of n then stands for two: c is what is left of its ranks for all other options, c + n
  // what uniform options may use of them. At first both are whole ranks; splits at the nodes take
  // from one what they leave to the other. Together they never use more than whole ranks. If a
  // class has ranks of several hosts, options that fill hosts are not uniform.
  bool uniform_apart = false;
  // Of a file: divided by single ranks, or with ranks that all count as alike. Nothing is proved.
  bool is_older_form = false;

  // Searches of all plans that a check repeats, with the engine that may have made them.
  std::size_t num_searches() const {
    if (by_search) return 1;
    return static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(), [](const BoundNode& node) { return node.by_search; }));
  }
  bool excludes_all_plans() const { return bound == std::numeric_limits<double>::infinity(); }
};

}  // namespace shardwright::embedding
