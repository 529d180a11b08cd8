#include "search/embedding/model/rank_loads.h"

#include <algorithm>
#include <limits>

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

namespace {

// The journal starts with space for this many changes per rank: replacing one table on all ranks by
// another changes every rank twice.
constexpr std::size_t kReservedChanges = 4;

}  // namespace

RankLoads::RankLoads(const ChoiceModel& model)
    : model_(&model),
      scales_(model.time_scale()),
      rules_(model),
      ranks_(model.world_size()),
      bar_(std::numeric_limits<double>::infinity()) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].set_capacity(model.room()[rank]);
  for (const MemoryTier tier : kMemoryTiers) {
    double all = 0;
    for (const Storage& room : model.room())
      all += static_cast<double>(std::max(room[tier], Bytes()).value());
    means_[tier] = std::max(all / static_cast<double>(ranks_.size()), 1.0);
  }
  journal_.reserve(kReservedChanges * ranks_.size());
}

double RankLoads::memory_energy(const RankLoad& at, const Storage& more) const {
  // No loop over tiers, for speed: with scarce memory, this function is half of the work of a
  // placement.
  const Storage over = more - at.left;
  // An empty rank fits, even if its capacity is negative.
  if (at.capacity.is_negative() && over + at.capacity == Storage()) return 0;
  double energy = 0;
  if (over.hbm > Bytes()) energy += weights_.hbm * static_cast<double>(over.hbm.value());
  if (over.ddr > Bytes()) energy += weights_.ddr * static_cast<double>(over.ddr.value());
  if (over.ssd > Bytes()) energy += weights_.ssd * static_cast<double>(over.ssd.value());
  return energy;
}

void RankLoads::clear_ranks() {
  journal_.clear();
  rules_.clear();
  for (RankLoad& at : ranks_)
    at.clear();
  begin_filling();
}

void RankLoads::begin_filling() {
  filled_loads_.clear();
  for (const RankLoad& at : ranks_)
    filled_loads_.push_back(at.load);
  filled_borders_.assign(ranks_.size() + 1, Storage());
}

void RankLoads::fill(Rank rank, const ShardUse& use) {
  filled_loads_[rank] += scaled(rank, use.load);
  ranks_[rank].left -= use.storage;
  if (use.table != ShardUse::kUnruled) rules_.change(1, use.table, use.shard, rank, 0);
}

// Adds loads rank by rank, because their order decides the last digits, and bytes at borders of
// runs.
void RankLoads::fill_everywhere(const Choice& choice) {
  Rank rank = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    const Rank end = rank + run.count;
    filled_borders_[rank] += run.storage;
    filled_borders_[end] -= run.storage;
    if (scales_.empty()) {
      for (; rank < end; ++rank)
        filled_loads_[rank] += run.load;
    }
    for (; rank < end; ++rank)
      filled_loads_[rank] += run.load * scales_[rank];
  }
}

void RankLoads::end_filling() {
  Storage everywhere;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    everywhere += filled_borders_[rank];
    ranks_[rank].load = filled_loads_[rank];
    ranks_[rank].left -= everywhere;
  }
  rules_.keep();
  refresh();
}

void RankLoads::refresh() {
  bad_ = 0;
  slope_ = 0;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    RankLoad& at = ranks_[rank];
    at.slope = scaled(rank, slope_of(at.load));
    slope_ += at.slope;
    at.energy = energy_of(at, at.load, Storage());
    at.bad = is_bad(at);
    bad_ += at.bad ? 1U : 0U;
  }
}

void RankLoads::set_goal(const Goal& goal) {
  goal_ = goal;
  inverse_scale_ = goal.scale > 0 ? 1 / goal.scale : 1;
  for (const MemoryTier tier : kMemoryTiers)
    weights_[tier] = goal.memory_weight / means_[tier];
  refresh();
}

void RankLoads::set_bar(double bar) {
  bar_ = bar;
  refresh();
}

double RankLoads::max_load() const {
  double most = 0;
  for (const RankLoad& at : ranks_)
    most = std::max(most, at.load);
  return most;
}

std::int64_t RankLoads::peak_hbm() const {
  std::int64_t most = 0;
  for (const RankLoad& at : ranks_)
    most = std::max(most, at.held().hbm.value());
  return most;
}

// Adds bytes and a load that is already scaled for this rank. Both may be negative.
inline double RankLoads::change_sums(Rank rank, double own_load, const Storage& storage) {
  RankLoad& at = ranks_[rank];
  journal_.push_back({rank, at.bad, at.load, at.left, at.energy, at.slope});
  at.load += own_load;
  at.left -= storage;
  const double before = at.energy;
  at.energy = energy_of(at, at.load, Storage());
  slope_ -= at.slope;
  at.slope = scaled(rank, slope_of(at.load));
  slope_ += at.slope;
  const bool bad = is_bad(at);
  bad_ += (bad ? 1U : 0U) - (at.bad ? 1U : 0U);
  at.bad = bad;
  return at.energy - before;
}

double RankLoads::change(Rank rank, int sign, const ShardUse& use) {
  const double own_load = scaled(rank, use.load);
  const double gained = sign > 0 ? change_sums(rank, own_load, use.storage)
                                 : change_sums(rank, -own_load, Storage() - use.storage);
  if (use.table == ShardUse::kUnruled) [[likely]]
    return gained;
  const int more = rules_.change(sign, use.table, use.shard, rank, journal_.size() - 1);
  return gained + goal_.rule_weight * more;
}

double RankLoads::change_everywhere(int sign, const Choice& choice) {
  double gained = 0;
  Rank rank = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    const double load = sign * run.load;
    const Storage storage = sign * run.storage;
    for (std::uint32_t k = 0; k < run.count; ++k, ++rank)
      gained += change_sums(rank, scaled(rank, load), storage);
  }
  return gained;
}

RankLoads::Removal RankLoads::removal_of(const Choice& choice) const {
  Removal removal{0, slope_};
  Rank rank = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    for (const Rank end = rank + run.count; rank < end; ++rank) {
      const RankLoad& at = ranks_[rank];
      const double load = at.load - scaled(rank, run.load);
      removal.rise += energy_of(at, load, Storage() - run.storage) - at.energy;
      removal.slope -= at.slope;
      removal.slope += scaled(rank, slope_of(load));
    }
  }
  return removal;
}

std::int64_t RankLoads::tentative_peak_hbm() const {
  std::int64_t most = 0;
  for (const Saved& saved : journal_)
    most = std::max(most, ranks_[saved.rank].held().hbm.value());
  return most;
}

void RankLoads::take_back(std::size_t count) {
  while (journal_.size() > count) {
    const Saved& saved = journal_.back();
    RankLoad& at = ranks_[saved.rank];
    bad_ += (saved.bad ? 1U : 0U) - (at.bad ? 1U : 0U);
    slope_ += saved.slope - at.slope;
    at.bad = saved.bad;
    at.load = saved.load;
    at.left = saved.left;
    at.energy = saved.energy;
    at.slope = saved.slope;
    journal_.pop_back();
  }
  rules_.take_back(count);
}

}  // namespace shardwright::embedding
