#include "search/embedding/model/allocation_state.h"

#include "core/check.h"

namespace shardwright::embedding {
namespace {

// Space is reserved per rank for twice the mean number of shards, plus this number.
constexpr std::size_t kFewShards = 4;

}  // namespace

AllocationState::AllocationState(const SearchContext& context)
    : RankLoads(context.model()),
      context_(&context),
      slots_(context.num_slots()),
      chosen_(context.model().num_tables()),
      shards_on_(context.model().world_size()),
      is_changed_(context.model().num_tables(), 0) {
  // With fewer shards than ranks, most ranks never hold a shard.
  const bool scattered = slots_.size() < shards_on_.size();
  for (std::vector<std::uint32_t>& shards : shards_on_)
    shards.reserve(scattered ? 0 : kFewShards + 2 * slots_.size() / shards_on_.size());
  changed_.reserve(chosen_.size());
  for (std::size_t table = 0; table < chosen_.size(); ++table) {
    for (std::uint32_t slot = context.first_slot(table); slot < context.first_slot(table + 1);
         ++slot)
      slots_[slot].table = static_cast<std::uint32_t>(table);
  }
}

double AllocationState::take_away(std::size_t table) {
  if (own_reach(table) == Reach::kAllRanks) return remove_everywhere(chosen(table));
  double gained = 0;
  const std::uint32_t first = context_->first_slot(table);
  for (std::uint32_t i = 0; i < num_shards(table); ++i)
    gained += remove(slots_[first + i].rank, slots_[first + i].use);
  return gained;
}

void AllocationState::clear() {
  for (std::vector<std::uint32_t>& shards : shards_on_)
    shards.clear();
  std::fill(chosen_.begin(), chosen_.end(), Chosen());
  clear_ranks();
  end_filling();
}

void AllocationState::assign(const Allocation& allocation) {
  clear();
  for (std::size_t table = 0; table < chosen_.size(); ++table)
    note_choice(table, allocation.choice[table], allocation.ranks[table]);
  recompute();
}

void AllocationState::recompute() {
  clear_ranks();
  for (std::size_t table = 0; table < chosen_.size(); ++table) {
    if (own_reach(table) == Reach::kAllRanks) {
      fill_everywhere(chosen(table));
      continue;
    }
    const std::uint32_t first = context_->first_slot(table);
    for (std::uint32_t i = 0; i < num_shards(table); ++i)
      fill(slots_[first + i].rank, slots_[first + i].use);
  }
  end_filling();
}

void AllocationState::mark_changed(std::size_t table) {
  if (is_changed_[table] != 0) return;
  is_changed_[table] = 1;
  changed_.push_back(static_cast<std::uint32_t>(table));
}

void AllocationState::mark_all_changed() {
  for (std::size_t table = 0; table < chosen_.size(); ++table)
    mark_changed(table);
}

void AllocationState::clear_changed() {
  for (const std::uint32_t table : changed_)
    is_changed_[table] = 0;
  changed_.clear();
}

void AllocationState::unlist(std::uint32_t slot) {
  std::vector<std::uint32_t>& shards = shards_on_[slots_[slot].rank];
  const std::uint32_t position = slots_[slot].position;
  shards[position] = shards.back();
  slots_[shards[position]].position = position;
  shards.pop_back();
}

void AllocationState::note_rank(std::uint32_t slot, Rank rank) {
  unlist(slot);
  slots_[slot].rank = rank;
  slots_[slot].position = static_cast<std::uint32_t>(shards_on_[rank].size());
  shards_on_[rank].push_back(slot);
  mark_changed(slots_[slot].table);
}

void AllocationState::note_choice(std::size_t table, std::uint32_t choice,
                                  std::span<const Rank> ranks) {
  const std::uint32_t first = context_->first_slot(table);
  if (has_choice(table) && own_reach(table) != Reach::kAllRanks) {
    for (std::uint32_t i = num_shards(table); i > 0; --i)
      unlist(first + i - 1);
  }
  const Choice& now = model().choices()[choice];
  chosen_[table] = {choice, now.num_shards, now.reach};
  mark_changed(table);
  if (now.reach == Reach::kAllRanks) return;
  SHARDWRIGHT_CHECK(ranks.size() == now.num_shards);
  const std::span<const ShardUse> uses = context_->shards(choice);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    Slot& slot = slots_[first + i];
    slot.use = uses[i];
    slot.rank = ranks[i];
    slot.position = static_cast<std::uint32_t>(shards_on_[ranks[i]].size());
    shards_on_[ranks[i]].push_back(first + i);
  }
}

void AllocationState::copy_table(std::size_t table, Allocation& into) const {
  into.choice[table] = choice(table);
  std::vector<Rank>& ranks = into.ranks[table];
  ranks.clear();
  if (own_reach(table) == Reach::kAllRanks) return;
  for (std::uint32_t i = 0; i < num_shards(table); ++i)
    ranks.push_back(slots_[context_->first_slot(table) + i].rank);
}

}  // namespace shardwright::embedding
