// The choices of a search over all plans: the options of every table and the ranks of their shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/rank_flows.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// A set of tables as bits. A table is an index into all_choices(). Sets of a search have one size.
// Thread safety: a value.
class TableSet {
 public:
  explicit TableSet(std::size_t tables = 0) : words_((tables + kBits - 1) / kBits) {}

  bool contains(std::size_t table) const { return (words_[table / kBits] & bit(table)) != 0; }
  void insert(std::size_t table) { words_[table / kBits] |= bit(table); }
  void erase(std::size_t table) { words_[table / kBits] &= ~bit(table); }

  bool intersects(const TableSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  // Returns true if both sets contain the same tables among `these`.
  bool agrees_on(const TableSet& these, const TableSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (((words_[i] ^ other.words_[i]) & these.words_[i]) != 0) return false;
    }
    return true;
  }
  const std::vector<std::uint64_t>& words() const { return words_; }
  void insert_all(const TableSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] |= other.words_[i];
  }

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(std::size_t table) { return std::uint64_t{1} << table % kBits; }

  std::vector<std::uint64_t> words_;
};

// The options that count, and the ranks where their shards may be.
struct PlaceDomain {
  std::vector<std::uint32_t> classes;        // by option: rank classes as bits; 0: does not count
  std::vector<std::uint32_t> class_of_rank;  // by rank
};

struct PlanGoal {
  // A plan must rate below this target. If absent, any plan that evaluate() accepts is a solution.
  std::optional<double> below;
  // If not null, rating + weight x GiB moved from this plan must be below the target. Not owned.
  const HeldPlan* held = nullptr;
  // If not null, only plans within this domain count. Not owned.
  const PlaceDomain* within = nullptr;
  // If not 0, the search continues after each plan that it finds, with the target (1 - improvement)
  // x the plan's rating. Requires `below`.
  double improvement = 0;
};

// Consecutive shards of an option with equal costs, allowed ranks and charges for moves.
struct EqualShards {
  std::uint32_t count = 0;
  double load = 0;
  PerTier<double> bytes = {};   // exact
  std::vector<Rank> ranks;      // allowed ranks, ascending; a `place` is an index here
  std::vector<double> charges;  // by place, in units of the rating; empty if all are 0

  double charge(std::size_t place) const { return charges.empty() ? 0 : charges[place]; }
  // Returns the range of places whose ranks are in [first, end).
  std::pair<std::size_t, std::size_t> places(Rank first, Rank end) const;
  // Returns the place of the rank, or ranks.size() if the rank cannot hold a shard.
  std::size_t place_on(Rank rank) const;
};

// How the shards of an option lie relative to each other.
enum class Form : std::uint8_t {
  kFree,        // anywhere
  kOneHost,     // on ranks of one host
  kWholeHosts,  // shard i of a block of local_world_size on rank i of a host
  kInOrder,     // shard i on rank i
};

struct TableChoice {
  OptionId option;
  Form form = Form::kFree;
  // For kInOrder, every entry is a single shard. For kWholeHosts, each local_world_size consecutive
  // entries form a block, and their counts are the number of equal blocks.
  std::vector<EqualShards> shards;

  // Returns the number of consecutive entries of `shards` that are placed at once.
  std::uint32_t width(std::uint32_t ranks_per_host) const {
    return form == Form::kWholeHosts ? ranks_per_host : 1;
  }
};

struct ChoicesOfTable {
  TableId table;
  bool distinct_ranks = false;
  // All shards must lie within this number of consecutive ranks: 1 or the ranks per host if rules
  // keep the table together with others, otherwise all ranks.
  std::uint32_t ranks_in_reach = 0;
  std::vector<TableChoice> choices;

  // Returns the same number for one choice.
  std::uint32_t reach(const TableChoice& choice, std::uint32_t ranks_per_host) const {
    return choice.form == Form::kOneHost && ranks_per_host < ranks_in_reach ? ranks_per_host
                                                                            : ranks_in_reach;
  }
};

// Returns the choices of all tables of the problem, in table order. An option is left out if its
// form does not fit the machine, if max_shards forbids it, if a shard fits on no rank that the
// rules of its table allow, or if another option dominates it. A dominating option has the same
// form or is free, has equally many shards, and no shard of it costs more. Domination is valid
// under all rules, because rules identify shards by number.
//
// Without `below`, loads are 0, and options that evaluate() refuses are left out. With `below`,
// tables that have no options in the space are left out.
std::vector<ChoicesOfTable> all_choices(const SearchSpace& space, const Topology& available,
                                        const PlanGoal& goal);

// Calls `take` with the choices of one table after another. Stops as soon as `take` returns false.
void for_each_table(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
                    const std::function<bool(ChoicesOfTable)>& take);

// Returns ChoicesOfTable::ranks_in_reach of the table.
std::uint32_t reach_of(TableId table, const PlacementRules& rules, const Topology& available);
// Returns true if the form of the choice allows all shards within `ranks` consecutive ranks.
bool fits_in(const TableChoice& choice, std::uint32_t ranks, const Topology& available);

// Returns the factor by which the rating multiplies the load of a rank.
double time_scale_of(const ProblemSpec& spec, std::size_t rank);

}  // namespace shardwright::embedding
