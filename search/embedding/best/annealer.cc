#include "search/embedding/best/annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace shardwright::embedding {
namespace {

constexpr double kPriceRounding = 1e-9;  // relative, of sums over all tables

}  // namespace

bool ConsideredChoices::may_be_below(std::uint32_t choice, double rating) const {
  const SearchContext& context = state_->context();
  return context.fits(choice) &&
         context.fastest(state_->model().choices()[choice].max_load) < rating;
}

void ConsideredChoices::set_rating(double rating, double part) {
  const SearchContext& context = state_->context();
  const ChoiceModel& model = state_->model();
  least_priced_.clear();
  double slack = rating * context.speed() + context.priced_capacity();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t index = model.first_choice(table);
    for (const Choice& choice : model.choices(table)) {
      if (may_be_below(index++, rating)) least = std::min(least, context.priced(choice));
    }
    least_priced_.push_back(least);
    slack -= least;
  }
  slack = part * slack + rating * kPriceRounding;
  considered_.clear();
  first_considered_.assign(1, 0);
  open_tables_.clear();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    std::uint32_t index = model.first_choice(table);
    for (const Choice& choice : model.choices(table)) {
      if (may_be_below(index, rating) && context.priced(choice) <= least_priced_[table] + slack)
        considered_.push_back(index);
      ++index;
    }
    const auto end = static_cast<std::uint32_t>(considered_.size());
    const std::uint32_t begin = first_considered_.back();
    first_considered_.push_back(end);
    const bool settled =
        begin == end || (end == begin + 1 && considered_[begin] == state_->choice(table));
    if (!settled || state_->chosen(table).reach != Reach::kAllRanks)
      open_tables_.push_back(static_cast<std::uint32_t>(table));
  }
}

std::uint32_t ConsideredChoices::draw(std::size_t table, std::uint32_t current,
                                      RandomGenerator& random) const {
  const std::uint32_t begin = first_considered_[table];
  if (count(table) == 0) return current;
  const std::uint32_t choice = considered_[begin + random.below(count(table))];
  if (choice != current || count(table) == 1) return choice;
  return considered_[begin + random.below(count(table))];
}

Rank RankSampler::draw_loaded() {
  const std::span<const RankLoad> ranks = state_->ranks();
  Rank worst = random_->below(ranks.size());
  for (std::uint32_t drawn = 1; drawn < parameters_->loaded_rank_tournament; ++drawn) {
    const Rank other = random_->below(ranks.size());
    if (ranks[other].energy > ranks[worst].energy) worst = other;
  }
  return worst;
}

Rank RankSampler::draw_target(const ShardUse& use, Window window) {
  const bool any = random_->coin();
  Rank best = placer_->draw_rank(use, window);
  if (any) return best;
  double least = state_->gain(best, use);
  for (std::uint32_t drawn = 1; drawn < parameters_->target_tournament; ++drawn) {
    const Rank other = placer_->draw_rank(use, window);
    const double gain = state_->gain(other, use);
    if (gain < least) {
      least = gain;
      best = other;
    }
  }
  return best;
}

std::uint32_t RankSampler::breadth() {
  const std::uint32_t world = state_->model().world_size();
  if (world <= MoveParameters::kFewRanks || random_->one_in(MoveParameters::kFullScanOneIn))
    return world;
  return MoveParameters::kSampledRanks;
}

EjectionChain::EjectionChain(AllocationState& state, EnergyPlacer& placer, RandomGenerator& random,
                             RankSampler& sampler, const ConsideredChoices& choices,
                             const MoveParameters& parameters)
    : state_(&state),
      placer_(&placer),
      random_(&random),
      sampler_(&sampler),
      choices_(&choices),
      parameters_(&parameters),
      links_(parameters.longest_chain + 2 * state.context().units().largest()) {}

double EjectionChain::begin_with(std::uint32_t table, std::uint32_t choice, Window window) {
  links_[0].table = table;
  links_[0].choice = choice;
  length_ = 1;
  return placer_->place(choice, sampler_->breadth(), links_[0].ranks, window);
}

double EjectionChain::begin_with_unit(std::uint32_t table, std::uint32_t choice) {
  length_ = 0;
  return append_unit(table, choice);
}

double EjectionChain::begin_with_block(std::uint32_t table, std::uint32_t slot, Rank target) {
  const std::uint32_t local = state_->model().local_world_size();
  const std::uint32_t first_of_table = state_->context().first_slot(table);
  const std::uint32_t shards = state_->num_shards(table);
  const std::uint32_t first = slot - (slot - first_of_table) % local;
  links_[0].table = table;
  links_[0].choice = state_->choice(table);
  links_[0].ranks.clear();
  length_ = 1;
  for (std::uint32_t k = 0; k < shards; ++k)
    links_[0].ranks.push_back(state_->slot(first_of_table + k).rank);
  double rise = 0;
  for (std::uint32_t k = 0; k < local; ++k) {
    const Slot& at = state_->slot(first + k);
    links_[0].ranks[first - first_of_table + k] = target + k;
    rise += state_->remove(at.rank, at.use) + state_->add(target + k, at.use);
  }
  placer_->spend(std::uint64_t{2} * local);
  return rise;
}

double EjectionChain::append(std::uint32_t table, std::uint32_t choice) {
  Replacement& link = links_[length_++];
  link.table = table;
  link.choice = choice;
  const double rise = placer_->take_away(table);
  const Window window = placer_->own_window(table);
  return rise + placer_->place(choice, sampler_->breadth(), link.ranks, window);
}

double EjectionChain::append_unit(std::uint32_t table, std::uint32_t choice) {
  const TableUnits& units = state_->context().units();
  const TableUnits::Unit& unit = units.units()[units.unit_of(table)];
  const std::size_t begin = length_;
  double rise = 0;
  for (const std::uint32_t member : unit.tables) {
    rise += placer_->take_away(member);
    links_[length_].table = member;
    links_[length_++].choice = member == table ? choice : state_->choice(member);
  }
  const std::uint32_t tries = random_->coin() ? 1 : MoveParameters::kUnitTries;
  return rise +
         placer_->place_unit({links_.data() + begin, length_ - begin}, tries, sampler_->breadth());
}

// Returns a new or an old rank of the chain's first table.
Rank EjectionChain::rank_to_relieve() {
  const Replacement& first = links_.front();
  if (random_->coin() && !first.ranks.empty())
    return first.ranks[random_->below(first.ranks.size())];
  if (state_->own_reach(first.table) == Reach::kAllRanks) return sampler_->draw_loaded();
  const std::uint32_t slot = state_->context().first_slot(first.table);
  return state_->slot(slot + random_->below(state_->num_shards(first.table))).rank;
}

// Draws a table with a shard on the rank. Returns false if there is none or the chain has it.
bool EjectionChain::draw_table_on(Rank rank, std::uint32_t& table) {
  const std::span<const std::uint32_t> shards = state_->shards_on(rank);
  if (shards.empty()) return false;
  table = state_->slot(shards[random_->below(shards.size())]).table;
  for (const Replacement& link : links()) {
    if (link.table == table) return false;
  }
  return true;
}

// Returns true if the chain has a table of the same unit, or no room for the whole unit.
bool EjectionChain::has_unit_of(std::uint32_t table) const {
  const TableUnits& units = state_->context().units();
  const std::uint32_t unit = units.unit_of(table);
  return length_ + units.units()[unit].tables.size() > links_.size() ||
         std::any_of(links().begin(), links().end(),
                     [&](const Replacement& link) { return units.unit_of(link.table) == unit; });
}

double EjectionChain::eject(double rise, double most) {
  const bool is_long = random_->one_in(parameters_->long_chain_one_in);
  const std::size_t longest = length_ + (is_long ? parameters_->longest_chain - 1 : 1);
  if (rise <= most) return rise;
  const Rank rank = rank_to_relieve();
  while (rise > most && length_ < std::min(longest, links_.size())) {
    std::uint32_t other = 0;
    if (!draw_table_on(rank, other)) break;
    const bool bonded = state_->context().units().colocation(other) != Colocation::kNone;
    if (bonded && random_->coin() && !has_unit_of(other)) {
      rise += append_unit(other, state_->choice(other));
    } else {
      rise += append(other, choices_->draw(other, *random_));
    }
  }
  return rise;
}

void EjectionChain::finish(double rise, double most) {
  rise = eject(rise, most);
  if (rise > most) return state_->take_back();
  state_->keep();
  for (const Replacement& link : links())
    state_->note_choice(link.table, link.choice, link.ranks);
}

namespace {

constexpr std::uint64_t kSixteenths = 16;
// Work of drawing a move, in updates of a rank.
constexpr std::uint64_t kDrawWork = 8;
// With more choices than this, reading a new choice misses the near cache and takes kFarWork.
constexpr std::size_t kMostNear = 6'144;
constexpr std::uint64_t kFarWork = 50;
// With more choices than this, reading a new choice misses all caches.
constexpr std::size_t kMostCached = 32'768;
constexpr std::uint64_t kFarthestWork = 120;
constexpr double kMiddle = 0.5;  // of a threshold's interval

std::uint64_t far_work(std::size_t num_choices) {
  if (num_choices > kMostCached) return kFarthestWork;
  return num_choices > kMostNear ? kFarWork : 0;
}

}  // namespace

Annealer::Annealer(AllocationState& state, std::uint64_t key, const MoveParameters& parameters)
    : state_(&state),
      parameters_(&parameters),
      random_(key),
      placer_(state, random_),
      sampler_(state, placer_, random_, parameters),
      choices_(state),
      chain_(state, placer_, random_, sampler_, choices_, parameters),
      far_work_(far_work(state.model().choices().size())) {
  for (std::size_t i = 0; i < thresholds_.size(); ++i) {
    thresholds_[i] =
        -std::log((static_cast<double>(i) + kMiddle) / static_cast<double>(thresholds_.size()));
  }
}

Annealer::Pick Annealer::pick() {
  if (random_.coin()) {
    const std::span<const std::uint32_t> shards = state_->shards_on(sampler_.draw_loaded());
    if (!shards.empty()) {
      const std::uint32_t slot = shards[random_.below(shards.size())];
      return {state_->slot(slot).table, slot};
    }
  }
  const std::span<const std::uint32_t> open = choices_.open_tables();
  const std::uint32_t table = open[random_.below(open.size())];
  const std::uint32_t first = state_->context().first_slot(table);
  if (state_->own_reach(table) == Reach::kAllRanks) return {table, first};
  return {table, first + random_.below(state_->num_shards(table))};
}

// Returns the ranks to which the slot's shard may move without other shards.
Window Annealer::window_of(const Slot& slot) const {
  const std::uint32_t local = state_->model().local_world_size();
  if (state_->reach(slot.table) == Reach::kHost) return {slot.rank / local * local, local};
  return placer_.all_ranks();
}

double Annealer::least_load(std::uint32_t choice) const {
  const ChoiceModel& model = state_->model();
  double least = std::numeric_limits<double>::infinity();
  for (const ChoiceRun& run : model.runs(model.choices()[choice]))
    least = std::min(least, run.load);
  return least;
}

void Annealer::try_choice(std::uint32_t table, double most) {
  placer_.spend(far_work_);
  const std::uint32_t choice = choices_.draw(table, random_);
  const bool everywhere = state_->model().choices()[choice].reach == Reach::kAllRanks;
  // The slope of the energy refuses most choices on all ranks before any rank changes, or, if the
  // table is not on all ranks yet, before their shards are added.
  if (everywhere && state_->own_reach(table) == Reach::kAllRanks) {
    const RankLoads::Removal removal = state_->removal_of(state_->chosen(table));
    if (removal.rise + removal.slope * least_load(choice) > most)
      return placer_.spend(state_->num_shards(table));
  }
  const double rise = placer_.take_away(table);
  if (everywhere && rise + state_->slope() * least_load(choice) > most) return state_->take_back();
  const Window window = placer_.new_window(table, choice, MoveParameters::kWholePlaceOneIn);
  chain_.finish(rise + chain_.begin_with(table, choice, window), most);
}

void Annealer::try_unit(std::uint32_t table, double most) {
  const bool anew = random_.coin();
  const std::uint32_t choice = anew ? choices_.draw(table, random_) : state_->choice(table);
  chain_.finish(chain_.begin_with_unit(table, choice), most);
}

void Annealer::try_block(std::uint32_t slot, double most) {
  const std::uint32_t local = state_->model().local_world_size();
  const std::uint32_t table = state_->slot(slot).table;
  const std::uint32_t first = slot - (slot - state_->context().first_slot(table)) % local;
  const Rank target = placer_.draw_host(state_->slot(first).use) * local;
  if (target == state_->slot(first).rank) return;
  chain_.finish(chain_.begin_with_block(table, slot, target), most);
}

// Moves `use` between ranks if the energy rises by at most `most`. Returns true if it moved.
bool Annealer::moves(Rank from, Rank target, const ShardUse& use, double most) {
  if (use.table == ShardUse::kUnruled && state_->loss(from, use) + state_->gain(target, use) > most)
    return false;
  const double rise = state_->remove(from, use) + state_->add(target, use);
  if (rise > most) {
    state_->take_back();
    return false;
  }
  state_->keep();
  return true;
}

void Annealer::try_shift(std::uint32_t slot, double most) {
  const Slot& at = state_->slot(slot);
  const Rank target = sampler_.draw_target(at.use, window_of(at));
  placer_.spend(2);
  if (target == at.rank) return;
  if (moves(at.rank, target, at.use, most)) state_->note_rank(slot, target);
}

void Annealer::try_swap(std::uint32_t slot, double most) {
  const Slot& at = state_->slot(slot);
  const std::uint32_t local = state_->model().local_world_size();
  const Rank target = placer_.draw_rank(at.use, window_of(at));
  const std::span<const std::uint32_t> there = state_->shards_on(target);
  if (target == at.rank || there.empty()) return;
  const std::uint32_t other_slot = there[random_.below(there.size())];
  const Slot& other = state_->slot(other_slot);
  const Reach other_reach = state_->reach(other.table);
  if (other_reach == Reach::kWholeHosts) return;
  if (other_reach == Reach::kHost && target / local != at.rank / local) return;
  placer_.spend(2);
  const Rank from = at.rank;
  if (at.use.table == ShardUse::kUnruled && other.use.table == ShardUse::kUnruled) {
    const ShardUse moved{at.use.load - other.use.load, at.use.storage - other.use.storage};
    if (!moves(from, target, moved, most)) return;
  } else {
    double rise = state_->remove(from, at.use) + state_->remove(target, other.use);
    rise += state_->add(target, at.use) + state_->add(from, other.use);
    if (rise > most) return state_->take_back();
    state_->keep();
  }
  state_->note_rank(slot, target);
  state_->note_rank(other_slot, from);
}

// Moves the shard to a random rank, and a random shard of this rank to a drawn target rank.
void Annealer::try_ejection(std::uint32_t slot, double most) {
  constexpr std::uint64_t kWork = 5;  // ranks read or updated
  const Slot& at = state_->slot(slot);
  const Rank target = placer_.draw_rank(at.use, window_of(at));
  const std::span<const std::uint32_t> there = state_->shards_on(target);
  if (target == at.rank || there.empty()) return;
  const std::uint32_t ejected_slot = there[random_.below(there.size())];
  const Slot& ejected = state_->slot(ejected_slot);
  if (state_->reach(ejected.table) == Reach::kWholeHosts) return;
  double rise = state_->remove(at.rank, at.use) + state_->add(target, at.use) +
                state_->remove(target, ejected.use);
  const Rank next = sampler_.draw_target(ejected.use, window_of(ejected));
  rise += state_->add(next, ejected.use);
  placer_.spend(kWork);
  if (rise > most) return state_->take_back();
  state_->keep();
  state_->note_rank(slot, target);
  state_->note_rank(ejected_slot, next);
}

void Annealer::step(double temperature) {
  placer_.spend(kDrawWork);
  if (choices_.open_tables().empty()) return;
  const auto [table, slot] = pick();
  const double most = temperature * thresholds_[random_.below(thresholds_.size())];
  const std::uint64_t kind = random_.bits() & (kSixteenths - 1);
  const std::uint32_t shift_from = parameters_->choice_sixteenths;
  const std::uint32_t swap_from = shift_from + parameters_->shift_sixteenths;
  const Reach reach = state_->reach(table);
  if (reach == Reach::kAllRanks || kind < shift_from) return try_choice(table, most);
  const bool bonded = state_->context().units().colocation(table) != Colocation::kNone;
  if (bonded && (kind < swap_from || reach == Reach::kWholeHosts)) return try_unit(table, most);
  if (reach == Reach::kWholeHosts) return try_block(slot, most);
  if (kind < swap_from) return try_shift(slot, most);
  if (kind < swap_from + parameters_->swap_sixteenths) return try_swap(slot, most);
  return try_ejection(slot, most);
}

}  // namespace shardwright::embedding
