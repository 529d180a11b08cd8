#include "search/embedding/best/moves/ejection_chain.h"

#include <algorithm>
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
  if (world <= parameters_->few_ranks || random_->one_in(parameters_->full_scan_one_in))
    return world;
  return parameters_->sampled_ranks;
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
  const std::uint32_t tries = random_->coin() ? 1 : parameters_->unit_tries;
  return rise +
         placer_->place_unit({links_.data() + begin, length_ - begin}, tries, sampler_->breadth());
}

// A rank where the first table of the chain is going, or one where it was.
Rank EjectionChain::rank_to_relieve() {
  const Replacement& first = links_.front();
  if (random_->coin() && !first.ranks.empty())
    return first.ranks[random_->below(first.ranks.size())];
  if (state_->own_reach(first.table) == Reach::kAllRanks) return sampler_->draw_loaded();
  const std::uint32_t slot = state_->context().first_slot(first.table);
  return state_->slot(slot + random_->below(state_->num_shards(first.table))).rank;
}

// Draws a table with a shard on the rank. Returns false if there is none or it is in the chain.
bool EjectionChain::draw_table_on(Rank rank, std::uint32_t& table) {
  const std::span<const std::uint32_t> shards = state_->shards_on(rank);
  if (shards.empty()) return false;
  table = state_->slot(shards[random_->below(shards.size())]).table;
  for (const Replacement& link : links()) {
    if (link.table == table) return false;
  }
  return true;
}

// Returns true if a table of the same unit is in the chain, or if the unit is too long for it.
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
    const bool bonded = state_->context().units().bond(other) != Bond::kNone;
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

}  // namespace shardwright::embedding
