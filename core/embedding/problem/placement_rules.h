// The user's placement constraints, compiled for fast queries.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/table.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"

namespace shardwright::embedding {

// A set of ranks, stored as an ascending list and as a bit set.
// Thread safety: immutable.
class RankSet {
 public:
  // Precondition: `ranks` strictly ascend and are below world_size.
  RankSet(std::vector<Rank> ranks, std::uint32_t world_size);

  // O(1).
  bool contains(Rank rank) const { return (bits_[rank / 64] >> (rank % 64) & 1) != 0; }
  std::span<const Rank> ranks() const { return ranks_; }
  std::size_t size() const { return ranks_.size(); }
  // Returns the number of ranks of the set in [first, first + count). O(log size).
  std::size_t count_in(Rank first, std::uint32_t count) const;

 private:
  std::vector<Rank> ranks_;
  std::vector<std::uint64_t> bits_;
};

// The placement constraints of a problem. Drops constraints that forbid nothing, such as a list of
// all ranks or a `keep_apart` group of one table.
// Thread safety: immutable; const members may be called from any thread.
class PlacementRules {
 public:
  static constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();

  struct Group {
    bool together = false;  // all shards of all tables on one rank or host; otherwise kept apart
    GroupScope on = GroupScope::kRank;
    std::vector<TableId> tables;  // ascending
    std::string place;            // JSON pointer into the problem file
  };

  PlacementRules() = default;  // no rules

  // Errors: kInvalidInput with the place in the problem file, for unknown ranks, hosts and tables,
  // empty lists, and contradictions that need no search. Contradictions are: no rank is allowed for
  // a shard or for tables kept together; ranks or hosts are too few for tables kept apart; two
  // tables are both kept together and kept apart. Precondition: table names were checked.
  static Result<PlacementRules> make(const std::vector<Table>& tables,
                                     const std::vector<TableGroup>& keep_together,
                                     const std::vector<TableGroup>& keep_apart,
                                     const Topology& topology);

  // All queries are O(1), except allowed(): O(log(entries of shard_ranks of the table)).
  bool any() const { return !first_place_.empty(); }
  // The JSON pointer of the first rule; empty without rules.
  const std::string& first_place() const { return first_place_; }
  // Returns true if any rule names the table.
  bool constrains(TableId table) const { return any() && of(table).constrained; }

  // Returns the ranks allowed for the shard, at least one, or nullptr if every rank is allowed.
  const RankSet* allowed(TableId table, std::uint32_t shard) const;
  // Returns true if allowed() is the same for all shards of the table.
  bool same_for_all_shards(TableId table) const { return !any() || of(table).by_shard.empty(); }
  std::uint32_t max_shards(TableId table) const {
    return any() ? of(table).max_shards : kAnyNumber;
  }
  bool distinct_ranks(TableId table) const { return any() && of(table).distinct_ranks; }

  const std::vector<Group>& groups() const { return groups_; }
  // Indices into groups(), ascending.
  std::span<const std::uint32_t> groups_of(TableId table) const {
    return any() ? std::span<const std::uint32_t>(of(table).groups)
                 : std::span<const std::uint32_t>();
  }

 private:
  static constexpr std::uint32_t kEverywhere = std::numeric_limits<std::uint32_t>::max();

  struct TableRules {
    std::uint32_t set = kEverywhere;                                // index into sets_
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_shard;  // (shard, set), ascending
    std::uint32_t max_shards = kAnyNumber;
    bool distinct_ranks = false;
    bool constrained = false;
    std::vector<std::uint32_t> groups;
  };
  using SetNumbers = std::map<std::vector<Rank>, std::uint32_t>;

  const TableRules& of(TableId table) const { return tables_[table.index()]; }
  std::uint32_t add_set(std::vector<Rank> ranks, std::uint32_t world_size, SetNumbers& known);
  Status add_table(const Table& table, const Topology& topology, TableRules& rules,
                   SetNumbers& known);
  Status add_groups(const std::vector<Table>& tables, const std::vector<TableGroup>& groups,
                    bool together, const Topology& topology);
  Status check_contradictions(const std::vector<Table>& tables, const Topology& topology) const;
  void note(const std::string& place) {
    if (first_place_.empty()) first_place_ = place;
  }

  std::vector<TableRules> tables_;  // empty if there are no rules
  std::vector<RankSet> sets_;
  std::vector<Group> groups_;
  std::string first_place_;
};

}  // namespace shardwright::embedding
