#include "core/embedding/bound/rank_contents.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardwright::embedding {
namespace {

// The shards that a table may put on a rank: choice, number, costs and charge of each shard.
using Signature = std::vector<double>;

std::vector<Signature> signatures(const ChoicesOfTable& table, std::size_t ranks,
                                  std::uint32_t ranks_per_host) {
  std::vector<Signature> all(ranks);
  for (std::size_t c = 0; c < table.choices.size(); ++c) {
    const TableChoice& choice = table.choices[c];
    for (std::size_t i = 0; i < choice.shards.size(); ++i) {
      const EqualShards& shards = choice.shards[i];
      // Shards with a fixed rank need no number to tell them apart: all shards of an option in rank
      // order get the same number, as do the shards of a block. Other shards keep their numbers.
      std::size_t number = i;
      if (choice.form == Form::kInOrder) number = 0;
      if (choice.form == Form::kWholeHosts) number = i / ranks_per_host;
      for (std::size_t place = 0; place < shards.ranks.size(); ++place) {
        Signature& signature = all[shards.ranks[place]];
        signature.insert(signature.end(), {static_cast<double>(c), static_cast<double>(number),
                                           shards.load, shards.bytes.hbm, shards.bytes.ddr,
                                           shards.bytes.ssd, shards.charge(place)});
      }
    }
  }
  return all;
}

// Numbers the distinct values from 0; equal values get the same number.
template <class Value>
std::vector<std::uint32_t> numbered(const std::vector<Value>& values) {
  std::map<Value, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  numbers.reserve(values.size());
  for (const Value& value : values)
    numbers.push_back(
        known.try_emplace(value, static_cast<std::uint32_t>(known.size())).first->second);
  return numbers;
}

std::vector<std::uint32_t> orbits_of(const std::vector<RankTraits>& traits) {
  std::vector<Signature> values;
  values.reserve(traits.size());
  for (const RankTraits& own : traits)
    values.push_back({own.bytes.hbm, own.bytes.ddr, own.bytes.ssd, own.scale});
  return numbered(values);
}

}  // namespace

RankOrbits::RankOrbits(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
                       const std::vector<ChoicesOfTable>& tables)
    : kind_(orbits_of(traits)) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> both(kind_.size());
  for (const ChoicesOfTable& table : tables) {
    const std::vector<std::uint32_t> own =
        numbered(signatures(table, kind_.size(), ranks_per_host));
    for (std::size_t rank = 0; rank < kind_.size(); ++rank)
      both[rank] = {kind_[rank], own[rank]};
    kind_ = numbered(both);
  }
  num_kinds_ = *std::max_element(kind_.begin(), kind_.end()) + std::size_t{1};
  tell_apart(traits, ranks_per_host, tables);
}

void RankOrbits::tell_apart(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
                            const std::vector<ChoicesOfTable>& tables) {
  constexpr std::size_t kMostKinds = 256;
  if (num_kinds_ == 1 || num_kinds_ > kMostKinds) return;
  std::vector<std::size_t> first(num_kinds_);  // the first rank of each kind
  for (std::size_t rank = kind_.size(); rank > 0; --rank)
    first[kind_[rank - 1]] = rank - 1;
  told_apart_by_.assign(num_kinds_ * num_kinds_, TableSet(tables.size()));
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::vector<Signature> own = signatures(tables[t], kind_.size(), ranks_per_host);
    for (std::size_t a = 0; a < num_kinds_; ++a) {
      for (std::size_t b = 0; b < num_kinds_; ++b) {
        if (!(traits[first[a]] == traits[first[b]]) || own[first[a]] != own[first[b]])
          told_apart_by_[a * num_kinds_ + b].insert(t);
      }
    }
  }
}

namespace {

std::vector<RankTraits> traits_of(const SearchSpace& space, const Topology& available) {
  std::vector<RankTraits> traits;
  for (std::size_t rank = 0; rank < available.world_size(); ++rank) {
    const Storage& room = available.storage()[rank];
    traits.push_back({as_doubles(room), time_scale_of(space.problem().spec(), rank)});
  }
  return traits;
}

}  // namespace

RankContents::RankContents(const SearchSpace& space, const Topology& available,
                           const std::vector<ChoicesOfTable>& tables)
    : tables_(tables),
      local_(available.local_world_size()),
      contents_(available.world_size()),
      tables_on_(available.world_size(), TableSet(tables.size())),
      traits_(traits_of(space, available)),
      kinds_(traits_, local_, tables),
      groups_of_(tables.size()),
      bound_to_hosts_(tables.size()) {
  find_groups(space);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (const TableChoice& choice : tables[t].choices) {
      if (choice.form == Form::kOneHost || choice.form == Form::kWholeHosts)
        bound_to_hosts_.insert(t);
    }
  }
}

void RankContents::find_groups(const SearchSpace& space) {
  for (const PlacementRules::Group& group : space.problem().rules().groups()) {
    Group own{group.together,
              group.on == GroupScope::kRank ? 1 : local_,
              TableSet(tables_.size()),
              0,
              {}};
    own.held_here.assign(contents_.size() / own.ranks_per_place, 0);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (!std::binary_search(group.tables.begin(), group.tables.end(), tables_[t].table)) continue;
      own.tables.insert(t);
      groups_of_[t].push_back(groups_.size());
    }
    groups_.push_back(std::move(own));
  }
}

RankContents::Before RankContents::add(const EqualShards& shards, std::size_t place,
                                       std::size_t table) {
  const Rank rank = shards.ranks[place];
  RankContent& content = contents_[rank];
  const Before before{content, tables_on_[rank].contains(table), max_load_, charged_};
  content.load += shards.load * traits_[rank].scale;
  for (const MemoryTier tier : kMemoryTiers)
    content.bytes[tier] += shards.bytes[tier];
  max_load_ = std::max(max_load_, content.load);
  charged_ += shards.charge(place);
  if (before.had_table) return before;
  tables_on_[rank].insert(table);
  for (const std::size_t group : groups_of_[table]) {
    ++groups_[group].held;
    ++groups_[group].held_here[rank / groups_[group].ranks_per_place];
  }
  return before;
}

void RankContents::restore(Rank rank, const Before& before, std::size_t table) {
  contents_[rank] = before.content;
  max_load_ = before.max_load;
  charged_ = before.charged;
  if (before.had_table) return;
  tables_on_[rank].erase(table);
  for (const std::size_t group : groups_of_[table]) {
    --groups_[group].held;
    --groups_[group].held_here[rank / groups_[group].ranks_per_place];
  }
}

bool RankContents::has_room(const EqualShards& shards, std::size_t place, double target) const {
  const Rank rank = shards.ranks[place];
  const RankContent& content = contents_[rank];
  const double load = std::max(max_load_, content.load + shards.load * traits_[rank].scale);
  if (load + (charged_ + shards.charge(place)) >= target) return false;
  bool is_empty = true;
  bool fits = true;
  for (const MemoryTier tier : kMemoryTiers) {
    const double bytes = content.bytes[tier] + shards.bytes[tier];
    is_empty &= bytes == 0;
    fits &= bytes <= traits_[rank].bytes[tier];
  }
  return is_empty || fits;
}

bool RankContents::is_held_elsewhere(const Group& group, Rank rank) const {
  return group.held > group.held_here[rank / group.ranks_per_place];
}

bool RankContents::is_held_by_others(const Group& group, Rank rank, std::size_t table) const {
  const Rank first = rank - rank % group.ranks_per_place;
  std::uint32_t own = 0;
  for (Rank here = first; here < first + group.ranks_per_place; ++here)
    own += tables_on_[here].contains(table) ? 1U : 0U;
  return group.held_here[rank / group.ranks_per_place] > own;
}

bool RankContents::may_join(Rank rank, std::size_t table) const {
  if (tables_[table].distinct_ranks && tables_on_[rank].contains(table)) return false;
  return std::all_of(groups_of_[table].begin(), groups_of_[table].end(), [&](std::size_t i) {
    const Group& group = groups_[i];
    return group.together ? !is_held_elsewhere(group, rank)
                          : !is_held_by_others(group, rank, table);
  });
}

void RankContents::look_ahead(const TableSet& remaining, std::size_t now,
                              RemainingTables& remaining_tables) const {
  remaining_tables.remaining = remaining;
  remaining_tables.relevant = TableSet(tables_.size());
  remaining_tables.relevant.insert(now);
  remaining_tables.hosts_matter = bound_to_hosts_.intersects(remaining);
  for (const Group& group : groups_) {
    if (!group.tables.intersects(remaining)) continue;
    remaining_tables.relevant.insert_all(group.tables);
    if (group.ranks_per_place > 1) remaining_tables.hosts_matter = true;
  }
}

bool RankContents::are_interchangeable(Rank a, Rank b,
                                       const RemainingTables& remaining_tables) const {
  const RankContent& one = contents_[a];
  const RankContent& other = contents_[b];
  return one.load == other.load && one.bytes == other.bytes &&
         kinds_.are_interchangeable(a, b, remaining_tables.remaining) &&
         tables_on_[a].agrees_on(remaining_tables.relevant, tables_on_[b]);
}

bool RankContents::are_hosts_interchangeable(std::uint32_t a, std::uint32_t b,
                                             const RemainingTables& remaining_tables) const {
  if ((std::max(a, b) + 1) * local_ > size()) return false;  // some ranks are on no host
  for (std::uint32_t i = 0; i < local_; ++i) {
    if (!are_interchangeable(a * local_ + i, b * local_ + i, remaining_tables)) return false;
  }
  return true;
}

}  // namespace shardwright::embedding
