#include "core/embedding/bound/search/rank_contents.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

// Returns true if the choice puts the same on both ranks, whichever is which.
bool treats_alike(const TableChoice& choice, Rank a, Rank b, std::uint32_t local) {
  const auto same = [](const EqualShards& x, const EqualShards& y) {
    return x.load == y.load && x.hbm == y.hbm && x.ddr == y.ddr;
  };
  if (choice.form == Form::kInOrder) {
    const EqualShards& one = choice.shards[a];
    const EqualShards& other = choice.shards[b];
    return same(one, other) && one.ranks[a] == other.ranks[b];
  }
  for (std::size_t i = 0; i < choice.shards.size(); ++i) {
    std::size_t k = i;
    if (choice.form == Form::kWholeHosts) {
      if (i % local != a % local) continue;
      k = i - a % local + b % local;
    }
    if (!same(choice.shards[i], choice.shards[k]) ||
        choice.shards[i].ranks[a] != choice.shards[k].ranks[b])
      return false;
  }
  return true;
}

}  // namespace

RankContents::RankContents(const SearchSpace& space, const Topology& available,
                           const std::vector<ChoicesOfTable>& tables)
    : tables_(tables), local_(available.local_world_size()), contents_(available.world_size()) {
  for (Rank rank = 0; rank < contents_.size(); ++rank) {
    const Storage& room = available.storage()[rank];
    room_.push_back(
        {0, static_cast<double>(room.hbm.value()), static_cast<double>(room.ddr.value()), 0});
    scale_.push_back(time_scale_of(space.problem().spec(), rank));
  }
  find_groups(space);
  tell_apart();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (const TableChoice& choice : tables[t].choices) {
      if (choice.form == Form::kOneHost || choice.form == Form::kWholeHosts)
        bound_to_hosts_ |= TableSet{1} << t;
    }
  }
}

void RankContents::find_groups(const SearchSpace& space) {
  for (const PlacementRules::Group& group : space.problem().rules().groups()) {
    Group own{group.together, group.on == GroupScope::kRank ? 1 : local_, 0};
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (std::find(group.tables.begin(), group.tables.end(), tables_[t].table) !=
          group.tables.end())
        own.tables |= TableSet{1} << t;
    }
    groups_.push_back(own);
  }
}

void RankContents::tell_apart() {
  told_apart_by_.assign(contents_.size() * contents_.size(), 0);
  for (Rank a = 0; a < contents_.size(); ++a) {
    for (Rank b = 0; b < contents_.size(); ++b) {
      TableSet& by = told_apart_by_[a * contents_.size() + b];
      const bool same =
          room_[a].hbm == room_[b].hbm && room_[a].ddr == room_[b].ddr && scale_[a] == scale_[b];
      for (std::size_t t = 0; t < tables_.size(); ++t) {
        const auto alike = [&](const TableChoice& choice) {
          return treats_alike(choice, a, b, local_);
        };
        const std::vector<TableChoice>& choices = tables_[t].choices;
        if (!same || !std::all_of(choices.begin(), choices.end(), alike)) by |= TableSet{1} << t;
      }
    }
  }
}

RankContent RankContents::add(Rank rank, const EqualShards& shards, std::size_t table) {
  RankContent& own = contents_[rank];
  const RankContent before = own;
  own.load += shards.load * scale_[rank];
  own.hbm += shards.hbm;
  own.ddr += shards.ddr;
  own.tables |= TableSet{1} << table;
  return before;
}

bool RankContents::has_room(Rank rank, const EqualShards& shards, double target) const {
  const RankContent& own = contents_[rank];
  if (own.load + shards.load * scale_[rank] >= target) return false;
  const double hbm = own.hbm + shards.hbm;
  const double ddr = own.ddr + shards.ddr;
  return (hbm == 0 && ddr == 0) || (hbm <= room_[rank].hbm && ddr <= room_[rank].ddr);
}

bool RankContents::may_join(Rank rank, std::size_t table) const {
  const TableSet self = TableSet{1} << table;
  if (tables_[table].distinct_ranks && (contents_[rank].tables & self) != 0) return false;
  for (const Group& group : groups_) {
    if ((group.tables & self) == 0) continue;
    const TableSet others = group.together ? group.tables : group.tables & ~self;
    for (Rank other = 0; other < contents_.size(); ++other) {
      const bool here = other / group.ranks_per_place == rank / group.ranks_per_place;
      if (here != group.together && (contents_[other].tables & others) != 0) return false;
    }
  }
  return true;
}

TableSet RankContents::relevant(TableSet remaining, std::size_t now) const {
  TableSet tables = TableSet{1} << now;
  for (const Group& group : groups_) {
    if ((group.tables & remaining) != 0) tables |= group.tables;
  }
  return tables;
}

bool RankContents::hold_the_same(Rank a, Rank b, TableSet remaining, TableSet relevant) const {
  const RankContent& one = contents_[a];
  const RankContent& other = contents_[b];
  return (told_apart_by_[a * contents_.size() + b] & remaining) == 0 && one.load == other.load &&
         one.hbm == other.hbm && one.ddr == other.ddr &&
         ((one.tables ^ other.tables) & relevant) == 0;
}

bool RankContents::do_hosts_matter(TableSet remaining) const {
  return (bound_to_hosts_ & remaining) != 0 ||
         std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
           return group.ranks_per_place > 1 && (group.tables & remaining) != 0;
         });
}

bool RankContents::are_alike(Rank a, Rank b, TableSet remaining, std::size_t now) const {
  if (a / local_ != b / local_ && do_hosts_matter(remaining)) {
    return a % local_ == b % local_ && are_hosts_alike(a / local_, b / local_, remaining, now);
  }
  return hold_the_same(a, b, remaining, relevant(remaining, now));
}

bool RankContents::are_hosts_alike(std::uint32_t a, std::uint32_t b, TableSet remaining,
                                   std::size_t now) const {
  const TableSet tables = relevant(remaining, now);
  for (std::uint32_t i = 0; i < local_; ++i) {
    if (!hold_the_same(a * local_ + i, b * local_ + i, remaining, tables)) return false;
  }
  return true;
}

}  // namespace shardwright::embedding
