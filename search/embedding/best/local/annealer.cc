#include "search/embedding/best/local/annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr std::uint32_t kFewRanks = 32;   // that are all looked at
constexpr std::uint32_t kSomeRanks = 12;  // of many

}  // namespace

Annealer::Annealer(AllocationState& loads, std::uint64_t key)
    : loads_(&loads),
      draws_(key),
      placer_(loads, draws_),
      chain_(kLongestChain + 2 * loads.context().units().largest()) {
  for (std::size_t i = 0; i < thresholds_.size(); ++i) {
    thresholds_[i] =
        -std::log((static_cast<double>(i) + 0.5) / static_cast<double>(thresholds_.size()));
  }
}

void Annealer::set_choices(double rating) {
  const SearchContext& context = loads_->context();
  const ChoiceModel& model = loads_->model();
  least_priced_.clear();
  double slack = rating * context.speed() + context.priced_capacity();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t index = model.first_choice(table);
    for (const Choice& choice : model.choices(table)) {
      if (context.fits(index++) && context.fastest(choice.max_load) < rating)
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
      if (context.fits(model.first_choice(table) + i) &&
          context.fastest(choices[i].max_load) < rating &&
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

// Where the slot's shard may go by itself.
Window Annealer::window_of(const Slot& slot) const {
  const std::uint32_t local = loads_->model().local_world_size();
  if (loads_->reach(slot.table) == Reach::kHost) return {slot.rank / local * local, local};
  return placer_.all_ranks();
}

Rank Annealer::pick_target(const ShardUse& use, Window window) {
  const std::uint64_t bits = draws_.bits();
  Rank best = placer_.draw_rank(use, window);
  if ((bits & 1) != 0) return best;
  double least = loads_->gain(best, use);
  for (int i = 0; i < 3; ++i) {
    const Rank other = placer_.draw_rank(use, window);
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
  const Window window = placer_.own_window(table);
  return gained + placer_.place(choice, breadth(), chain_[link].ranks, window);
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

// What makes a change too dear is often that memory or time is missing on one rank only: other
// tables there, or where the first table was, make room by changing, too.
double Annealer::make_room(std::size_t& length, double gained, double most) {
  const std::size_t longest = length + ((draws_.bits() & 7) == 0 ? kLongestChain - 1 : 1);
  if (gained <= most) return gained;
  const Rank rank = rank_to_relieve();
  while (gained > most && length < std::min(longest, chain_.size())) {
    const std::uint32_t other = next_in_chain(length, rank);
    if (other == chain_[0].table) break;
    const bool bonded = loads_->context().units().bond(other) != Bond::kNone;
    if (bonded && (draws_.bits() & 1) != 0 && !in_chain_with_unit(length, other)) {
      gained += move_unit(length, other, loads_->choice(other));
    } else {
      gained += replace(length++, other, pick_choice(other));
    }
  }
  return gained;
}

void Annealer::finish(std::size_t length, double gained, double most) {
  if (gained > most) return loads_->take_back();
  loads_->keep();
  for (std::size_t link = 0; link < length; ++link)
    loads_->note_choice(chain_[link].table, chain_[link].choice, chain_[link].ranks);
}

// Under rules the place that costs least is often the one that was left: some go elsewhere whole.
Window Annealer::new_window(std::uint32_t table, std::uint32_t choice) {
  const Window own = placer_.own_window(table);
  const bool everywhere = loads_->model().choices()[choice].reach == Reach::kAllRanks;
  if (everywhere || own.size < loads_->model().world_size()) return own;
  const ShardUse& first = loads_->context().shards(choice)[0];
  if (first.table == ShardUse::kUnruled || (draws_.bits() & 3) != 0) return own;
  const std::uint32_t local = (draws_.bits() & 1) != 0 ? 1 : loads_->model().local_world_size();
  return {placer_.draw_rank(first, own) / local * local, local};
}

void Annealer::try_choice(std::uint32_t table, double most) {
  const std::uint32_t choice = pick_choice(table);
  double gained = placer_.take_away(table);
  if (loads_->model().choices()[choice].reach == Reach::kAllRanks &&
      gained + loads_->slope() * least_load(choice) > most) {
    return loads_->take_back();
  }
  chain_[0].table = table;
  chain_[0].choice = choice;
  gained += placer_.place(choice, breadth(), chain_[0].ranks, new_window(table, choice));
  std::size_t length = 1;
  gained = make_room(length, gained, most);
  finish(length, gained, most);
}

// Whether one of the table's unit has changed already.
bool Annealer::in_chain_with_unit(std::size_t length, std::uint32_t table) const {
  const TableUnits& units = loads_->context().units();
  const std::uint32_t unit = units.unit_of(table);
  return length + units.units()[unit].tables.size() > chain_.size() ||
         std::any_of(chain_.begin(), chain_.begin() + static_cast<std::ptrdiff_t>(length),
                     [&](const Replacement& r) { return units.unit_of(r.table) == unit; });
}

// The table, with this choice, and what it is kept together with move as one.
double Annealer::move_unit(std::size_t& length, std::uint32_t table, std::uint32_t choice) {
  const TableUnits& units = loads_->context().units();
  const TableUnits::Unit& unit = units.units()[units.unit_of(table)];
  const std::size_t begin = length;
  double gained = 0;
  for (const std::uint32_t member : unit.tables) {
    gained += placer_.take_away(member);
    chain_[length].table = member;
    chain_[length++].choice = member == table ? choice : loads_->choice(member);
  }
  const std::uint32_t tries = (draws_.bits() & 1) != 0 ? 1 : 4;
  return gained + placer_.place_unit({chain_.data() + begin, length - begin}, tries, breadth());
}

void Annealer::try_unit(std::uint32_t table, double most) {
  const bool anew = (draws_.bits() & 1) != 0;
  std::size_t length = 0;
  double gained = move_unit(length, table, anew ? pick_choice(table) : loads_->choice(table));
  gained = make_room(length, gained, most);
  finish(length, gained, most);
}

void Annealer::try_shift(std::uint32_t slot, double most) {
  const Slot& at = loads_->slot(slot);
  const Rank target = pick_target(at.use, window_of(at));
  placer_.spend(2);
  if (target == at.rank) return;
  const double gained = loads_->remove(at.rank, at.use) + loads_->add(target, at.use);
  if (gained > most) return loads_->take_back();
  loads_->keep();
  loads_->note_rank(slot, target);
}

// Where the block does not fit, a table on its new host or where it was makes room.
void Annealer::try_block(std::uint32_t slot, double most) {
  const std::uint32_t local = loads_->model().local_world_size();
  const std::uint32_t table = loads_->slot(slot).table;
  const std::uint32_t first_of_table = loads_->context().first_slot(table);
  const std::uint32_t shards = loads_->chosen(table).num_shards;
  const std::uint32_t first = slot - (slot - first_of_table) % local;
  const Rank target = placer_.draw_host(loads_->slot(first).use) * local;
  if (target == loads_->slot(first).rank) return;
  chain_[0].table = table;
  chain_[0].choice = loads_->choice(table);
  chain_[0].ranks.clear();
  for (std::uint32_t k = 0; k < shards; ++k)
    chain_[0].ranks.push_back(loads_->slot(first_of_table + k).rank);
  double gained = 0;
  for (std::uint32_t k = 0; k < local; ++k) {
    const Slot& at = loads_->slot(first + k);
    chain_[0].ranks[first - first_of_table + k] = target + k;
    gained += loads_->remove(at.rank, at.use) + loads_->add(target + k, at.use);
  }
  placer_.spend(2 * local);
  std::size_t length = 1;
  gained = make_room(length, gained, most);
  finish(length, gained, most);
}

void Annealer::try_exchange(std::uint32_t slot, double most) {
  const Slot& at = loads_->slot(slot);
  const std::uint32_t local = loads_->model().local_world_size();
  const Rank target = placer_.draw_rank(at.use, window_of(at));
  const auto there = loads_->shards_on(target);
  if (target == at.rank || there.empty()) return;
  const std::uint32_t other_slot = there[draws_.below(there.size())];
  const Slot& other = loads_->slot(other_slot);
  const Reach other_reach = loads_->reach(other.table);
  if (other_reach == Reach::kWholeHosts) return;
  if (other_reach == Reach::kHost && target / local != at.rank / local) return;
  placer_.spend(2);
  const Rank from = at.rank;
  double gained = 0;
  if (at.use.table == ShardUse::kUnruled && other.use.table == ShardUse::kUnruled) {
    const ShardUse moved{at.use.load - other.use.load, at.use.hbm_bytes - other.use.hbm_bytes,
                         at.use.ddr_bytes - other.use.ddr_bytes};
    gained = loads_->remove(from, moved) + loads_->add(target, moved);
  } else {
    gained = loads_->remove(from, at.use) + loads_->remove(target, other.use);
    gained += loads_->add(target, at.use) + loads_->add(from, other.use);
  }
  if (gained > most) return loads_->take_back();
  loads_->keep();
  loads_->note_rank(slot, target);
  loads_->note_rank(other_slot, from);
}

// The shard goes to a rank, and a shard from there to where it costs least.
void Annealer::try_push(std::uint32_t slot, double most) {
  const Slot& at = loads_->slot(slot);
  const Rank target = placer_.draw_rank(at.use, window_of(at));
  const auto there = loads_->shards_on(target);
  if (target == at.rank || there.empty()) return;
  const std::uint32_t pushed_slot = there[draws_.below(there.size())];
  const Slot& pushed = loads_->slot(pushed_slot);
  if (loads_->reach(pushed.table) == Reach::kWholeHosts) return;
  double gained = loads_->remove(at.rank, at.use) + loads_->add(target, at.use) +
                  loads_->remove(target, pushed.use);
  const Rank next = pick_target(pushed.use, window_of(pushed));
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
  const Reach reach = loads_->reach(table);
  if (reach == Reach::kAllRanks || kind < 3) return try_choice(table, most);
  const bool bonded = loads_->context().units().bond(table) != Bond::kNone;
  if (bonded && (kind < 8 || reach == Reach::kWholeHosts)) return try_unit(table, most);
  if (reach == Reach::kWholeHosts) return try_block(slot, most);
  if (kind < 8) return try_shift(slot, most);
  if (kind < 14) return try_exchange(slot, most);
  return try_push(slot, most);
}

}  // namespace shardwright::embedding
