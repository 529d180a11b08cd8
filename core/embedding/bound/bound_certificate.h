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

// Lagrangian multipliers of the capacities of a rank: per unit of load (ms, or bytes for the
// storage model) and per byte of each memory tier. Never negative.
struct CapacityMultipliers {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
  double ssd = 0;

  constexpr double& operator[](MemoryTier tier) { return at_tier(*this, tier); }
  constexpr double operator[](MemoryTier tier) const { return at_tier(*this, tier); }
};

// A branch on the use of every rank of a class by uniform options. The use is at most `at` in the
// first child and at least `at` in the second. See BoundCertificate::uniform_apart.
// Thread safety: a value.
struct UniformSplit {
  std::uint32_t rank_class = 0;
  std::optional<MemoryTier> tier;  // absent: the split is on load
  double at = 0;                   // load, or whole bytes of `tier`
};

// Bounds on the load and bytes that uniform options use on every rank of a class.
// Thread safety: a value.
struct UniformUse {
  double least_load = 0;
  double most_load = std::numeric_limits<double>::infinity();
  PerTier<double> least_bytes = {};  // whole numbers
  PerTier<double> most_bytes = {static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes)};

  // Tightens the bounds to the first child of the split (`at_most`) or to the second.
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

// The message about a proof whose check was not completed.
inline constexpr std::string_view kProofTooLong = "the proof takes too long to check";
inline constexpr std::string_view kProofOfOlderForm =
    "the proof has a form of an earlier version, which is no longer checked; plan again for "
    "another";

// The dual value of one shard of an option. `run` says which shard: for an option with a shard on
// every rank, the number of the rank class; for one that fills hosts, always 0; otherwise the run
// of equal shards.
struct ShardDual {
  OptionId option;
  std::uint32_t run = 0;
  double value = 0;
};

// An option, and the rank classes where its shards may be. Bit c stands for class c.
struct OptionDomain {
  OptionId option;
  std::uint32_t classes = 0;
};

// A branch-and-bound node. For every table, a node has a list of open options, which plans of the
// node may use. Each open option has a domain of rank classes.
//
// First, a node drops options that no plan below the bound uses, for itself and its descendants:
// - Common use: if all options of a table have a shard on every rank, every rank holds at least the
//   smallest of these shards. Drops options that do not fit beside such shards of other tables.
// - Reduced costs, at each entry of `fixing`: the slack is the value of all ranks minus the cost of
//   all cheapest options. Drops options that cost more than their table's cheapest plus the slack.
//
// An inner node branches on how many of `tables` use an option of `first_child`, which lists
// options of the first table. All `tables` are equal: their open options have the same shards,
// costs and domains, so exchanging two tables in a plan gives another plan. In the first child, at
// least `count` tables use a listed option: the first `count` tables keep only listed options. In
// the second child, fewer tables do: all tables except the first `count` - 1 keep only options that
// are not listed. With one table, the two children partition its options. A domain may be divided
// only if the option lies in one place: it has a single shard, or one host holds all its shards.
//
// A node with a `uniform_split` branches on it instead. In the first child, uniform options use at
// most `at` of every rank of the class; in the second, at least `at`.
//
// A leaf proves that its node contains no plan below the bound, in one of three ways:
// - Lagrangian bound (`shard_duals` is empty): at the multipliers of the rank classes, all tables,
//   each with its cheapest option, cost more than the capacity of all ranks.
// - Pattern bound: every shard has a dual value. A pattern is a set of shards on one rank. On a
//   rank of class c, it is worth at most max_pattern_values[c]. All tables, each with its option of
//   least value, are worth more than the patterns of all ranks. The multipliers only speed up the
//   check. Whole ranks may have prices, too. A shard in a pattern is then worth its dual value
//   minus the price of the capacity that it uses, and a rank is worth its pattern plus the price of
//   its whole capacity. With `uniform_apart`, a class and its uniform class form one whole rank.
// - Search (`by_search`): all plans of the node were tried, and the check tries them again. The
//   multipliers are prices that prune the search. The check refuses such a leaf if there are
//   placement rules, because they may forbid the exchange of equal tables.
struct BoundNode {
  bool is_leaf = true;
  std::vector<std::vector<CapacityMultipliers>> fixing;  // each by rank class
  std::vector<TableId> tables;                           // ascending
  std::uint32_t count = 1;
  std::vector<OptionDomain> first_child;
  std::optional<UniformSplit> uniform_split;     // if present, `tables` is empty
  std::vector<CapacityMultipliers> multipliers;  // by rank class
  std::vector<ShardDual> shard_duals;            // absent shards have the value 0
  std::vector<double> max_pattern_values;        // by rank class
  // Prices of whole ranks, by rank class without uniform classes; empty without such prices.
  std::vector<CapacityMultipliers> whole_multipliers;
  bool by_search = false;  // leaves only
};

// A proof that every plan rates at least `bound`. `nodes` is a branch-and-bound tree in preorder
// whose leaves cover all plans. A class has the capacity of its largest rank. An infinite bound
// states that no plan exists, which check_absence() checks.
struct BoundCertificate {
  double bound = 0;
  std::vector<std::uint32_t> class_of_rank;
  std::vector<BoundNode> nodes;
  // If true, all plans below the bound were tried under all placement rules, and the check tries
  // them again. Every node is then a leaf whose multipliers are prices that prune the search. Any
  // prices are valid. A certificate for check_move_bound() is always by search.
  bool by_search = false;
  // The load factors of caches that the proof covers beside those of constraints; empty if best
  // mode chooses none.
  std::vector<TableLoadFactors> load_factors{};
  // Uniform options have a shard on every rank or fill whole hosts. On the ranks of one class,
  // their shards differ by rounding only, and each shard counts as the smallest of them. If
  // `uniform_apart` is true, each of the n classes becomes two: class c is the capacity for other
  // options, class c + n the capacity for uniform options. At the root, both have the capacity of
  // whole ranks. A split limits the uniform class in the first child and the other class in the
  // second. The shards in both classes together fit on whole ranks. If a class has ranks of several
  // hosts, options that fill hosts are not uniform.
  bool uniform_apart = false;
  // True for a certificate in the format of an earlier version, which proves nothing.
  bool is_older_form = false;

  // The number of searches over all plans that a check repeats, with the prover's search code.
  std::size_t num_searches() const {
    if (by_search) return 1;
    return static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(), [](const BoundNode& node) { return node.by_search; }));
  }
  bool excludes_all_plans() const { return bound == std::numeric_limits<double>::infinity(); }
};

}  // namespace shardwright::embedding
