// The contents of ranks during a search, and the ranks and hosts that are interchangeable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/table_choices.h"

namespace shardwright::embedding {

// A rank's memory, and the factor by which the rating multiplies its load.
struct RankTraits {
  PerTier<double> bytes = {};
  double scale = 1;

  friend bool operator==(const RankTraits&, const RankTraits&) = default;
};

// Divides ranks into kinds. Two ranks are of one kind if they have the same traits and every choice
// of every table can put the same shards on both.
// Thread safety: immutable.
class RankOrbits {
 public:
  RankOrbits(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
             const std::vector<ChoicesOfTable>& tables);

  // Returns true if the ranks have the same traits and the choices of the `remaining` tables treat
  // them alike. With over 256 kinds, returns true only for ranks of one kind.
  bool are_interchangeable(Rank a, Rank b, const TableSet& remaining) const {
    const std::size_t one = kind_[a];
    const std::size_t other = kind_[b];
    if (one == other) return true;
    return !told_apart_by_.empty() &&
           !told_apart_by_[one * num_kinds_ + other].intersects(remaining);
  }

 private:
  void tell_apart(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
                  const std::vector<ChoicesOfTable>& tables);

  std::vector<std::uint32_t> kind_;  // by rank
  std::size_t num_kinds_ = 0;
  std::vector<TableSet> told_apart_by_;  // by pair of kinds; empty for one kind or over 256
};

struct RankContent {
  double load = 0;  // ms or bytes, times the factor of the rank
  PerTier<double> bytes = {};
};

// The tables that decide whether two ranks are interchangeable while a table is placed.
struct RemainingTables {
  TableSet remaining;         // not yet placed, including the table being placed
  TableSet relevant;          // tables whose ranks matter to rules of the remaining tables
  bool hosts_matter = false;  // true if a choice or a rule of the remaining tables depends on hosts
};

// Thread safety: one thread at a time. Refers to its arguments.
class RankContents {
 public:
  RankContents(const SearchSpace& space, const Topology& available,
               const std::vector<ChoicesOfTable>& tables);

  std::uint32_t size() const { return static_cast<std::uint32_t>(contents_.size()); }
  std::uint32_t ranks_per_host() const { return local_; }
  const RankContent& operator[](Rank rank) const { return contents_[rank]; }
  double free_bytes(Rank rank, MemoryTier tier) const {
    return traits_[rank].bytes[tier] - contents_[rank].bytes[tier];
  }
  double scale(Rank rank) const { return traits_[rank].scale; }

  // The largest load of all ranks, and the sum of all charges for moves.
  double max_load() const { return max_load_; }
  double charged() const { return charged_; }

  // The values that add() changes, for restore().
  struct Before {
    RankContent content;
    bool had_table = false;
    double max_load = 0;
    double charged = 0;
  };
  // Adds a shard of `table` on rank shards.ranks[place].
  Before add(const EqualShards& shards, std::size_t place, std::size_t table);
  void restore(Rank rank, const Before& before, std::size_t table);

  // Returns true if one more shard at the place keeps the largest load plus all charges below the
  // target, and the rank within its memory.
  bool has_room(const EqualShards& shards, std::size_t place, double target) const;
  // Returns true if may_join() depends on the contents of ranks.
  bool has_rules(std::size_t table) const {
    return tables_[table].distinct_ranks || !groups_of_[table].empty();
  }
  // Returns true if the rules that relate shards to each other (distinct ranks, tables kept
  // together or apart) allow a shard of the table on the rank.
  bool may_join(Rank rank, std::size_t table) const;

  // Sets `remaining_tables`. `now` is the table being placed and is in `remaining`.
  void look_ahead(const TableSet& remaining, std::size_t now,
                  RemainingTables& remaining_tables) const;
  // Returns true if the ranks would be interchangeable if their contents were equal.
  bool are_in_one_orbit(Rank a, Rank b, const TableSet& remaining) const {
    return kinds_.are_interchangeable(a, b, remaining);
  }
  // Returns true if exchanging the shards of the remaining tables between the two ranks changes
  // nothing. Ignores hosts: where hosts matter, the result is valid for ranks of one host only.
  bool are_interchangeable(Rank a, Rank b, const RemainingTables& remaining_tables) const;
  // Returns the same for all ranks of two hosts, in rank order.
  bool are_hosts_interchangeable(std::uint32_t a, std::uint32_t b,
                                 const RemainingTables& remaining_tables) const;

  // Tables that must be together or apart, on ranks or on hosts.
  struct Group {
    bool together = false;
    std::uint32_t ranks_per_place = 1;
    TableSet tables;
    std::uint32_t held = 0;                // pairs (rank, table of the group on it)
    std::vector<std::uint32_t> held_here;  // the same pairs, by rank or host
  };
  const std::vector<Group>& groups() const { return groups_; }
  std::span<const std::size_t> groups_of(std::size_t table) const { return groups_of_[table]; }

 private:
  void find_groups(const SearchSpace& space);
  bool is_held_elsewhere(const Group& group, Rank rank) const;
  bool is_held_by_others(const Group& group, Rank rank, std::size_t table) const;

  const std::vector<ChoicesOfTable>& tables_;
  std::uint32_t local_;
  std::vector<RankContent> contents_;
  std::vector<TableSet> tables_on_;  // by rank
  double max_load_ = 0;
  double charged_ = 0;
  std::vector<RankTraits> traits_;
  RankOrbits kinds_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::size_t>> groups_of_;  // by table
  TableSet bound_to_hosts_;                          // tables with a choice that depends on hosts
};

}  // namespace shardwright::embedding
