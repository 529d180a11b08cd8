// The certificate of a lower bound: a branch-and-bound tree with multipliers.
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

// Branches on what uniform options use of every rank of a class: at most `at` in the first child,
// at least `at` in the second. See BoundCertificate::uniform_apart.
// Thread safety: a value.
struct UniformSplit {
  std::uint32_t rank_class = 0;
  std::optional<MemoryTier> tier;  // load, if there is none
  double at = 0;                   // load as the rating counts it, or whole bytes
};

// Bounds on what uniform options use of every rank of a class.
// Thread safety: a value.
struct UniformUse {
  double least_load = 0;
  double most_load = std::numeric_limits<double>::infinity();
  PerTier<double> least_bytes = {};  // whole numbers
  PerTier<double> most_bytes = {static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes)};

  // Tightens the bounds to one child of the split.
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

// The check's message on a proof that it has not checked to the end.
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

// A branch-and-bound node. It leaves every table some options, called open, each with a domain of
// classes.
//
// First, a node drops options that no plan below the bound uses, for itself and its descendants:
// - Common use: if all options of a table have a shard on every rank, every rank holds at least the
//   smallest of these shards. Drops options that do not fit beside such shards of other tables.
// - Reduced costs, at each of `fixing` in turn: the slack is the value of all ranks less the cost
//   of all cheapest options. Drops options that cost more than their table's cheapest plus slack.
//
// An inner node branches on the number of `tables` that use an option in `first_child`, which lists
// options of the first table. The tables are equal: their open options have the same shards, costs
// and domains, so a plan may exchange the tables. In the first child at least `count` tables use a
// listed option: the first `count` tables keep only listed options. In the second child fewer
// tables do: all tables but the first `count` - 1 keep only the other options. With one table, the
// two children partition its options. A domain may be divided only if the option lies in one place:
// it has a single shard, or one host holds all its shards.
//
// A node with a `uniform_split` also has two children: uniform options use at most `at` of every
// rank of the class in the first child, and at least `at` in the second.
//
// A leaf proves that its node contains no plan below the bound, in one of three ways:
// - Lagrangian bound (`shard_duals` is empty): at the multipliers of the rank classes, all tables,
//   each with its cheapest option, cost more than the capacity of all ranks.
// - Pattern bound: every shard has a dual value. A pattern, the shards on one rank of class c, is
//   worth at most max_pattern_values[c]. All tables, each with its option of least value, are worth
//   more than the patterns of all ranks. The multipliers only speed up the check of the maxima.
//   Whole ranks may have prices, too: a shard in a pattern is then worth its dual value less the
//   price of what it takes of a whole rank, and the ranks are worth their patterns plus the prices
//   of whole ranks. With `uniform_apart`, a class and its uniform class form one whole rank.
// - Search (`by_search`): all plans of the node were tried, and the check tries them again. The
//   multipliers are prices that prune the search. Such a leaf is refused if there are placement
//   rules, which may forbid exchanging equal tables.
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
  // Prices of whole ranks, by rank class without uniform classes; empty if they have none.
  std::vector<CapacityMultipliers> whole_multipliers;
  bool by_search = false;  // of a leaf
};

// States that every plan rates at least `bound`. `nodes` is a branch-and-bound tree in preorder
// whose leaves cover all plans. A class has the capacity of its largest rank. An infinite bound
// states that no plan exists; the check then proves that no plan rates below unreachable_rating().
struct BoundCertificate {
  double bound = 0;
  std::vector<std::uint32_t> class_of_rank;
  std::vector<BoundNode> nodes;
  // All plans below the bound were tried, under all placement rules, and the check tries them
  // again. Every node is then a leaf whose multipliers are prices that prune the search; any prices
  // are valid. A certificate for check_move_bound() is always by search.
  bool by_search = false;
  // The load factors of caches that the proof covers in addition to the load factors that
  // constraints name; empty if best mode chooses none.
  std::vector<TableLoadFactors> load_factors{};
  // Uniform options have a shard on every rank or fill whole hosts. On the ranks of a class, their
  // shards differ by rounding only, and each counts as the smallest of them. If set, each of the n
  // classes becomes two: class c is the capacity for all other options, class c + n the capacity
  // for uniform options. At the root both are whole ranks. A split limits the uniform class in the
  // first child and the other class in the second. The shards in both classes together fit on whole
  // ranks. If a class has ranks of several hosts, options that fill hosts are not uniform.
  bool uniform_apart = false;
  // Set for a certificate in the format of an earlier version, which proves nothing.
  bool is_older_form = false;

  // The number of searches over all plans that a check repeats. The check uses the prover's engine.
  std::size_t num_searches() const {
    if (by_search) return 1;
    return static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(), [](const BoundNode& node) { return node.by_search; }));
  }
  bool excludes_all_plans() const { return bound == std::numeric_limits<double>::infinity(); }
};

}  // namespace shardwright::embedding
