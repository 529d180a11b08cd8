#include "search/embedding/improve/annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr std::uint32_t kFewRanks = 32;   // that are all looked at
constexpr std::uint32_t kSomeRanks = 12;  // of many

}  // namespace

Annealer::Annealer(RankLoads& loads, std::uint64_t key)
    : loads_(&loads), draws_(key), placer_(loads, draws_) {
  for (std::size_t i = 0; i < thresholds_.size(); ++i) {
    thresholds_[i] =
        -std::log((static_cast<double>(i) + 0.5) / static_cast<double>(thresholds_.size()));
  }
}

void Annealer::set_choices(double rating) {
  const ImproveContext& context = loads_->context();
  const ChoiceModel& model = loads_->model();
  least_priced_.clear();
  double slack = rating * model.world_size() + context.priced_room();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t index = model.first_choice(table);
    for (const Choice& choice : model.choices(table)) {
      if (context.fits(index++) && choice.max_load < rating)
        least = std::min(least, context.priced(choice));
    }
    least_priced_.push_back(least);
    slack -= least;
  }
  slack += rating * 1e-9;  // of rounding
  considered_.clear();
  first_considered_.assign(1, 0);
  open_tables_.clear();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const std::span<const Choice> choices = model.choices(table);
    for (std::uint32_t i = 0; i < choices.size(); ++i) {
      if (context.fits(model.first_choice(table) + i) && choices[i].max_load < rating &&
          context.priced(choices[i]) <= least_priced_[table] + slack)
        considered_.push_back(model.first_choice(table) + i);
    }
    const auto end = static_cast<std::uint32_t>(considered_.size());
    const std::uint32_t begin = first_considered_.back();
    first_considered_.push_back(end);
    const bool settled =
        begin == end || (end == begin + 1 && considered_[begin] == loads_->choice(table));
    if (!settled || loads_->chosen(table).reach != Reach::kAllRanks)
      open_tables_.push_back(static_cast<std::uint32_t>(table));
  }
}

Rank Annealer::pick_loaded_rank() {
  const std::span<const RankLoad> ranks = loads_->ranks();
  Rank worst = draws_.below(ranks.size());
  for (int i = 0; i < 3; ++i) {
    const Rank other = draws_.below(ranks.size());
    if (ranks[other].energy > ranks[worst].energy) worst = other;
  }
  return worst;
}

Annealer::Pick Annealer::pick() {
  if ((draws_.bits() & 1) != 0) {
    const auto shards = loads_->shards_on(pick_loaded_rank());
    if (!shards.empty()) {
      const std::uint32_t slot = shards[draws_.below(shards.size())];
      return {loads_->slot(slot).table, slot};
    }
  }
  const std::uint32_t table = open_tables_[draws_.below(open_tables_.size())];
  const std::uint32_t first = loads_->context().first_slot(table);
  if (loads_->chosen(table).reach == Reach::kAllRanks) return {table, first};
  return {table, first + draws_.below(loads_->chosen(table).num_shards)};
}

Rank Annealer::pick_target(const ShardUse& use, Rank first, std::uint32_t size) {
  const std::uint64_t bits = draws_.bits();
  Rank best = first + draws_.below(size);
  if ((bits & 1) != 0) return best;
  double least = loads_->gain(best, use);
  for (int i = 0; i < 3; ++i) {
    const Rank other = first + draws_.below(size);
    const double gain = loads_->gain(other, use);
    if (gain < least) {
      least = gain;
      best = other;
    }
  }
  return best;
}

std::uint32_t Annealer::breadth() {
  const std::uint32_t world = loads_->model().world_size();
  return world <= kFewRanks || (draws_.bits() & 15) == 0 ? world : kSomeRanks;
}

// Another choice than the table has, where it has another.
std::uint32_t Annealer::pick_choice(std::size_t table) {
  const std::uint32_t begin = first_considered_[table];
  const std::uint32_t count = first_considered_[table + 1] - begin;
  if (count == 0) return loads_->choice(table);
  const std::uint32_t choice = considered_[begin + draws_.below(count)];
  if (choice != loads_->choice(table) || count == 1) return choice;
  return considered_[begin + draws_.below(count)];
}

// Of one shard.
double Annealer::least_load(std::uint32_t choice) const {
  const ChoiceModel& model = loads_->model();
  double least = std::numeric_limits<double>::infinity();
  for (const ChoiceRun& run : model.runs(model.choices()[choice]))
    least = std::min(least, run.load);
  return least;
}

// Tentatively; returns the energy gained.
double Annealer::replace(std::size_t link, std::uint32_t table, std::uint32_t choice) {
  chain_[link].table = table;
  chain_[link].choice = choice;
  const double gained = placer_.take_away(table);
  return gained + placer_.place(choice, breadth(), chain_[link].ranks);
}

// One where the first table of the chain is going, or where it was.
Rank Annealer::rank_to_relieve() {
  const Replacement& first = chain_.front();
  const Choice& before = loads_->chosen(first.table);
  if ((draws_.bits() & 1) != 0 && !first.ranks.empty())
    return first.ranks[draws_.below(first.ranks.size())];
  if (before.reach == Reach::kAllRanks) return pick_loaded_rank();
  const std::uint32_t slot = loads_->context().first_slot(first.table);
  return loads_->slot(slot + draws_.below(before.num_shards)).rank;
}

// A table with a shard on the rank that is not in the chain yet, or the chain's first.
std::uint32_t Annealer::next_in_chain(std::size_t length, Rank rank) {
  const auto shards = loads_->shards_on(rank);
  if (shards.empty()) return chain_.front().table;
  const std::uint32_t table = loads_->slot(shards[draws_.below(shards.size())]).table;
  for (std::size_t link = 0; link < length; ++link) {
    if (chain_[link].table == table) return chain_.front().table;
  }
  return table;
}

// What makes a choice too dear is often that memory or time is missing on one rank only: other
// tables there, or where the table was, make room by changing, too.
void Annealer::try_choice(std::uint32_t table, double most) {
  const std::uint32_t choice = pick_choice(table);
  double gained = placer_.take_away(table);
  if (loads_->model().choices()[choice].reach == Reach::kAllRanks &&
      gained + loads_->slope() * least_load(choice) > most) {
    return loads_->take_back();
  }
  chain_[0].table = table;
  chain_[0].choice = choice;
  gained += placer_.place(choice, breadth(), chain_[0].ranks);
  const std::size_t longest = (draws_.bits() & 7) == 0 ? kLongestChain : 2;
  std::size_t length = 1;
  if (gained > most) {
    const Rank rank = rank_to_relieve();
    while (gained > most && length < longest) {
      const std::uint32_t other = next_in_chain(length, rank);
      if (other == table) break;
      gained += replace(length++, other, pick_choice(other));
    }
  }
  if (gained > most) return loads_->take_back();
  loads_->keep();
  for (std::size_t link = 0; link < length; ++link)
    loads_->note_choice(chain_[link].table, chain_[link].choice, chain_[link].ranks);
}

void Annealer::try_shift(std::uint32_t slot, double most) {
  const Slot& at = loads_->slot(slot);
  const std::uint32_t local = loads_->model().local_world_size();
  const bool in_host = loads_->chosen(at.table).reach == Reach::kHost;
  const Rank target = in_host ? pick_target(at.use, at.rank / local * local, local)
                              : pick_target(at.use, 0, loads_->model().world_size());
  placer_.spend(2);
  if (target == at.rank) return;
  const double gained = loads_->remove(at.rank, at.use) + loads_->add(target, at.use);
  if (gained > most) return loads_->take_back();
  loads_->keep();
  loads_->note_rank(slot, target);
}

void Annealer::try_block(std::uint32_t slot, double most) {
  const std::uint32_t local = loads_->model().local_world_size();
  const std::uint32_t first_of_table = loads_->context().first_slot(loads_->slot(slot).table);
  const std::uint32_t first = slot - (slot - first_of_table) % local;
  const Rank target = draws_.below(loads_->model().num_hosts()) * local;
  if (target == loads_->slot(first).rank) return;
  double gained = 0;
  for (std::uint32_t k = 0; k < local; ++k) {
    const Slot& at = loads_->slot(first + k);
    gained += loads_->remove(at.rank, at.use) + loads_->add(target + k, at.use);
  }
  placer_.spend(2 * local);
  if (gained > most) return loads_->take_back();
  loads_->keep();
  for (std::uint32_t k = 0; k < local; ++k)
    loads_->note_rank(first + k, target + k);
}

void Annealer::try_exchange(std::uint32_t slot, double most) {
  const Slot& at = loads_->slot(slot);
  const std::uint32_t local = loads_->model().local_world_size();
  const bool in_host = loads_->chosen(at.table).reach == Reach::kHost;
  const Rank target = in_host ? at.rank / local * local + draws_.below(local)
                              : draws_.below(loads_->model().world_size());
  const auto there = loads_->shards_on(target);
  if (target == at.rank || there.empty()) return;
  const std::uint32_t other_slot = there[draws_.below(there.size())];
  const Slot& other = loads_->slot(other_slot);
  const Reach other_reach = loads_->chosen(other.table).reach;
  if (other_reach == Reach::kWholeHosts) return;
  if (other_reach == Reach::kHost && target / local != at.rank / local) return;
  placer_.spend(2);
  const Rank from = at.rank;
  const ShardUse moved{at.use.load - other.use.load, at.use.hbm_bytes - other.use.hbm_bytes,
                       at.use.ddr_bytes - other.use.ddr_bytes};
  const double gained = loads_->remove(from, moved) + loads_->add(target, moved);
  if (gained > most) return loads_->take_back();
  loads_->keep();
  loads_->note_rank(slot, target);
  loads_->note_rank(other_slot, from);
}

// The shard goes to a rank, and a shard from there to where it costs least.
void Annealer::try_push(std::uint32_t slot, double most) {
  const Slot& at = loads_->slot(slot);
  const std::uint32_t local = loads_->model().local_world_size();
  const std::uint32_t world = loads_->model().world_size();
  const bool in_host = loads_->chosen(at.table).reach == Reach::kHost;
  const Rank target = in_host ? at.rank / local * local + draws_.below(local) : draws_.below(world);
  const auto there = loads_->shards_on(target);
  if (target == at.rank || there.empty()) return;
  const std::uint32_t pushed_slot = there[draws_.below(there.size())];
  const Slot& pushed = loads_->slot(pushed_slot);
  const Reach reach = loads_->chosen(pushed.table).reach;
  if (reach == Reach::kWholeHosts) return;
  double gained = loads_->remove(at.rank, at.use) + loads_->add(target, at.use) +
                  loads_->remove(target, pushed.use);
  const Rank next = reach == Reach::kHost ? pick_target(pushed.use, target / local * local, local)
                                          : pick_target(pushed.use, 0, world);
  gained += loads_->add(next, pushed.use);
  placer_.spend(5);
  if (gained > most) return loads_->take_back();
  loads_->keep();
  loads_->note_rank(slot, target);
  loads_->note_rank(pushed_slot, next);
}

void Annealer::step(double temperature) {
  placer_.spend(1);
  if (open_tables_.empty()) return;
  const auto [table, slot] = pick();
  const double most = temperature * thresholds_[draws_.below(thresholds_.size())];
  const std::uint64_t kind = draws_.bits() & 15;
  const Reach reach = loads_->chosen(table).reach;
  if (reach == Reach::kAllRanks || kind < 3) return try_choice(table, most);
  if (reach == Reach::kWholeHosts) return try_block(slot, most);
  if (kind < 8) return try_shift(slot, most);
  if (kind < 14) return try_exchange(slot, most);
  return try_push(slot, most);
}

}  // namespace shardwright::embedding
