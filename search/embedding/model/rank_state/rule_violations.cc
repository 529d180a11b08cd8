#include "search/embedding/model/rank_state/rule_violations.h"

#include <algorithm>

namespace shardwright::embedding {

std::size_t RuleViolations::add_counts(std::size_t count) {
  counts_.resize(counts_.size() + count);
  return counts_.size() - count;
}

RuleViolations::RuleViolations(const ChoiceModel& model) : model_(&model) {
  const PlacementRules& rules = model.rules();
  if (!rules.any()) return;
  for (const PlacementRules::Group& group : rules.groups()) {
    const std::uint32_t size = group.on == GroupScope::kRank ? 1 : model.local_world_size();
    groups_.push_back({group.together, size, 0, add_counts(model.world_size() / size)});
  }
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const TableId id = model.table(table);
    Watched& at = watched_.emplace_back();
    at.by_shard = !rules.same_for_all_shards(id);
    if (!at.by_shard) at.allowed = rules.allowed(id, 0);
    at.distinct = rules.distinct_ranks(id);
    if (at.distinct) at.counts = add_counts(model.world_size());
    for (const std::uint32_t group : rules.groups_of(id)) {
      const bool together = groups_[group].together;
      const std::uint32_t places = model.world_size() / groups_[group].ranks_per_place;
      at.members.push_back({group, together ? 0 : add_counts(places)});
    }
  }
}

void RuleViolations::clear() {
  std::fill(counts_.begin(), counts_.end(), 0U);
  for (Group& group : groups_)
    group.used = 0;
  journal_.clear();
  broken_ = 0;
}

std::uint32_t RuleViolations::cost(std::uint32_t table, std::uint32_t shard, Rank rank) const {
  const Watched& at = watched_[table];
  const RankSet* const ranks = allowed(table, shard);
  std::uint32_t cost = ranks != nullptr && !ranks->contains(rank) ? 1 : 0;
  if (at.distinct && counts_[at.counts + rank] > 0) ++cost;
  for (const Member& member : at.members) {
    const Group& group = groups_[member.group];
    const Rank place = rank / group.ranks_per_place;
    const std::uint32_t there = counts_[group.counts + place];
    const bool breaks = group.together ? there == 0 && group.used > 0
                                       : counts_[member.counts + place] == 0 && there > 0;
    cost += breaks ? 1 : 0;
  }
  return cost;
}

int RuleViolations::add(std::uint32_t table, std::uint32_t shard, Rank rank) {
  const Watched& at = watched_[table];
  const auto more = static_cast<int>(cost(table, shard, rank));
  if (at.distinct) ++counts_[at.counts + rank];
  for (const Member& member : at.members) {
    Group& group = groups_[member.group];
    const Rank place = rank / group.ranks_per_place;
    std::uint32_t& there = counts_[group.counts + place];
    if (group.together) {
      if (there++ == 0) ++group.used;
    } else if (counts_[member.counts + place]++ == 0) {
      ++there;
    }
  }
  return more;
}

int RuleViolations::remove(std::uint32_t table, std::uint32_t shard, Rank rank) {
  const Watched& at = watched_[table];
  if (at.distinct) --counts_[at.counts + rank];
  for (const Member& member : at.members) {
    Group& group = groups_[member.group];
    const Rank place = rank / group.ranks_per_place;
    std::uint32_t& there = counts_[group.counts + place];
    if (group.together) {
      if (--there == 0) --group.used;
    } else if (--counts_[member.counts + place] == 0) {
      --there;
    }
  }
  return -static_cast<int>(cost(table, shard, rank));
}

int RuleViolations::change(int sign, std::uint32_t table, std::uint32_t shard, Rank rank,
                           std::size_t mark) {
  journal_.push_back({mark, table, shard, rank, sign});
  const int more = sign > 0 ? add(table, shard, rank) : remove(table, shard, rank);
  broken_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(broken_) + more);
  return more;
}

void RuleViolations::take_back(std::size_t first) {
  while (!journal_.empty() && journal_.back().mark >= first) {
    const Change last = journal_.back();
    change(-last.sign, last.table, last.shard, last.rank, 0);
    journal_.resize(journal_.size() - 2);
  }
}

}  // namespace shardwright::embedding
