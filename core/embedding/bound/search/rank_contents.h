// What the ranks hold while all plans are tried, and which ranks are interchangeable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/bound/search/table_choices.h"

namespace shardwright::embedding {

struct RankContent {
  double load = 0;  // times the rank's factor
  double hbm = 0;
  double ddr = 0;
  TableSet tables = 0;  // with a shard on the rank
};

// Thread safety: one thread at a time. Refers to its arguments.
class RankContents {
 public:
  RankContents(const SearchSpace& space, const Topology& available,
               const std::vector<ChoicesOfTable>& tables);

  std::uint32_t size() const { return static_cast<std::uint32_t>(contents_.size()); }
  std::uint32_t ranks_per_host() const { return local_; }
  const RankContent& operator[](Rank rank) const { return contents_[rank]; }
  double free_hbm(Rank rank) const { return room_[rank].hbm - contents_[rank].hbm; }
  double free_ddr(Rank rank) const { return room_[rank].ddr - contents_[rank].ddr; }
  double scale(Rank rank) const { return scale_[rank]; }

  // Returns what the rank held before, for restore().
  RankContent add(Rank rank, const EqualShards& shards, std::size_t table);
  void restore(Rank rank, const RankContent& before) { contents_[rank] = before; }

  // Returns true if one more shard leaves the rank below the load and within its memory.
  bool has_room(Rank rank, const EqualShards& shards, double target) const;
  // Returns true if the table's rules about other shards allow one on the rank: distinct ranks, and
  // tables together or apart.
  bool may_join(Rank rank, std::size_t table) const;

  // Returns true if exchanging all that `remaining` puts on the two ranks changes nothing; between
  // hosts, if the same holds for all ranks of the two. `now` is the table being placed.
  bool are_alike(Rank a, Rank b, TableSet remaining, std::size_t now) const;
  bool are_hosts_alike(std::uint32_t a, std::uint32_t b, TableSet remaining, std::size_t now) const;

  // Tables that are kept together or apart.
  struct Group {
    bool together = false;
    std::uint32_t ranks_per_place = 1;
    TableSet tables = 0;
  };
  const std::vector<Group>& groups() const { return groups_; }

 private:
  void find_groups(const SearchSpace& space);
  void tell_apart();
  bool hold_the_same(Rank a, Rank b, TableSet remaining, TableSet relevant) const;
  TableSet relevant(TableSet remaining, std::size_t now) const;
  bool do_hosts_matter(TableSet remaining) const;

  const std::vector<ChoicesOfTable>& tables_;
  std::uint32_t local_;
  std::vector<RankContent> contents_;
  std::vector<RankContent> room_;  // its load is not used
  std::vector<double> scale_;
  std::vector<Group> groups_;
  std::vector<TableSet> told_apart_by_;  // by two ranks
  TableSet bound_to_hosts_ = 0;          // tables with a choice that hosts bound
};

}  // namespace shardwright::embedding
