#include "search/embedding/model/rank_state/rank_loads.h"

#include <algorithm>
#include <limits>

#include "core/check.h"

namespace shardwright::embedding {

RankLoads::RankLoads(const SearchContext& context)
    : context_(&context),
      scales_(context.model().time_scale()),
      rules_(context.model()),
      ranks_(context.model().world_size()),
      slots_(context.num_slots()),
      choice_(context.model().num_tables(), kNoChoice),
      shards_on_(context.model().world_size()),
      is_changed_(context.model().num_tables(), 0),
      bar_(std::numeric_limits<double>::infinity()) {
  double hbm = 0;
  double ddr = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Storage& room = model().room()[rank];
    ranks_[rank].room_hbm = room.hbm.value();
    ranks_[rank].room_ddr = room.ddr.value();
    hbm += static_cast<double>(std::max<std::int64_t>(room.hbm.value(), 0));
    ddr += static_cast<double>(std::max<std::int64_t>(room.ddr.value(), 0));
    shards_on_[rank].reserve(4 + 2 * slots_.size() / ranks_.size());
  }
  mean_hbm_ = std::max(hbm / static_cast<double>(ranks_.size()), 1.0);
  mean_ddr_ = std::max(ddr / static_cast<double>(ranks_.size()), 1.0);
  journal_.reserve(4 * ranks_.size());
  changed_.reserve(model().num_tables());
  for (std::size_t table = 0; table < model().num_tables(); ++table) {
    for (std::uint32_t slot = context.first_slot(table); slot < context.first_slot(table + 1);
         ++slot)
      slots_[slot].table = static_cast<std::uint32_t>(table);
  }
}

double RankLoads::memory_energy(const RankLoad& at, std::int64_t hbm, std::int64_t ddr) const {
  if (hbm == 0 && ddr == 0) return 0;  // holding nothing fits anywhere
  return hbm_weight_ * static_cast<double>(std::max<std::int64_t>(hbm - at.room_hbm, 0)) +
         ddr_weight_ * static_cast<double>(std::max<std::int64_t>(ddr - at.room_ddr, 0));
}

bool RankLoads::is_bad(const RankLoad& at) const {
  if (at.load >= bar_) return true;
  return (at.hbm_bytes > at.room_hbm || at.ddr_bytes > at.room_ddr) &&
         (at.hbm_bytes != 0 || at.ddr_bytes != 0);
}

void RankLoads::clear() {
  journal_.clear();
  rules_.clear();
  for (auto& shards : shards_on_)
    shards.clear();
  std::fill(choice_.begin(), choice_.end(), kNoChoice);
  for (RankLoad& at : ranks_) {
    at.load = 0;
    at.hbm_bytes = at.ddr_bytes = 0;
  }
  refresh();
}

void RankLoads::assign(const Allocation& allocation) {
  clear();
  for (std::size_t table = 0; table < choice_.size(); ++table)
    note_choice(table, allocation.choice[table], allocation.ranks[table]);
  recompute();
}

void RankLoads::recompute() {
  for (RankLoad& at : ranks_) {
    at.load = 0;
    at.hbm_bytes = at.ddr_bytes = 0;
  }
  rules_.clear();
  for (std::size_t table = 0; table < choice_.size(); ++table) {
    const Choice& own = chosen(table);
    Rank next = 0;
    std::uint32_t slot = context_->first_slot(table);
    for (const ChoiceRun& run : model().runs(own)) {
      for (std::uint32_t k = 0; k < run.count; ++k) {
        const bool everywhere = own.reach == Reach::kAllRanks;
        const Rank rank = everywhere ? next++ : slots_[slot].rank;
        RankLoad& at = ranks_[rank];
        at.load += scaled(rank, run.load);
        at.hbm_bytes += run.hbm_bytes;
        at.ddr_bytes += run.ddr_bytes;
        if (everywhere) continue;
        const ShardUse& use = slots_[slot++].use;
        if (use.table != ShardUse::kUnruled) rules_.change(1, use.table, use.shard, rank, 0);
      }
    }
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
    at.energy = energy_of(at, at.load, at.hbm_bytes, at.ddr_bytes);
    at.bad = is_bad(at);
    bad_ += at.bad ? 1U : 0U;
  }
}

void RankLoads::set_goal(const Goal& goal) {
  goal_ = goal;
  inverse_scale_ = goal.scale > 0 ? 1 / goal.scale : 1;
  hbm_weight_ = goal.memory_weight / mean_hbm_;
  ddr_weight_ = goal.memory_weight / mean_ddr_;
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

double RankLoads::change(Rank rank, int sign, const ShardUse& use) {
  RankLoad& at = ranks_[rank];
  journal_.push_back({rank, at});
  at.load += sign * scaled(rank, use.load);
  at.hbm_bytes += sign * use.hbm_bytes;
  at.ddr_bytes += sign * use.ddr_bytes;
  const double before = at.energy;
  at.energy = energy_of(at, at.load, at.hbm_bytes, at.ddr_bytes);
  slope_ -= at.slope;
  at.slope = scaled(rank, slope_of(at.load));
  slope_ += at.slope;
  const bool bad = is_bad(at);
  bad_ += (bad ? 1U : 0U) - (at.bad ? 1U : 0U);
  at.bad = bad;
  const double gained = at.energy - before;
  if (use.table == ShardUse::kUnruled) [[likely]]
    return gained;
  const int more = rules_.change(sign, use.table, use.shard, rank, journal_.size() - 1);
  return gained + goal_.rule_weight * more;
}

double RankLoads::change_everywhere(int sign, const Choice& choice) {
  double gained = 0;
  Rank rank = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    const ShardUse use{run.load, run.hbm_bytes, run.ddr_bytes};
    for (std::uint32_t k = 0; k < run.count; ++k)
      gained += change(rank++, sign, use);
  }
  return gained;
}

std::int64_t RankLoads::tentative_peak_hbm() const {
  std::int64_t most = 0;
  for (const Saved& saved : journal_)
    most = std::max(most, ranks_[saved.rank].hbm_bytes);
  return most;
}

void RankLoads::take_back(std::size_t count) {
  while (journal_.size() > count) {
    const Saved& saved = journal_.back();
    RankLoad& at = ranks_[saved.rank];
    bad_ += (saved.load.bad ? 1U : 0U) - (at.bad ? 1U : 0U);
    slope_ += saved.load.slope - at.slope;
    at = saved.load;
    journal_.pop_back();
  }
  rules_.take_back(count);
}

void RankLoads::mark_changed(std::size_t table) {
  if (is_changed_[table] != 0) return;
  is_changed_[table] = 1;
  changed_.push_back(static_cast<std::uint32_t>(table));
}

void RankLoads::mark_all_changed() {
  for (std::size_t table = 0; table < choice_.size(); ++table)
    mark_changed(table);
}

void RankLoads::clear_changed() {
  for (const std::uint32_t table : changed_)
    is_changed_[table] = 0;
  changed_.clear();
}

void RankLoads::unlist(std::uint32_t slot) {
  std::vector<std::uint32_t>& shards = shards_on_[slots_[slot].rank];
  const std::uint32_t position = slots_[slot].position;
  shards[position] = shards.back();
  slots_[shards[position]].position = position;
  shards.pop_back();
}

void RankLoads::note_rank(std::uint32_t slot, Rank rank) {
  unlist(slot);
  slots_[slot].rank = rank;
  slots_[slot].position = static_cast<std::uint32_t>(shards_on_[rank].size());
  shards_on_[rank].push_back(slot);
  mark_changed(slots_[slot].table);
}

void RankLoads::note_choice(std::size_t table, std::uint32_t choice, std::span<const Rank> ranks) {
  const std::uint32_t first = context_->first_slot(table);
  if (has_choice(table) && chosen(table).reach != Reach::kAllRanks) {
    for (std::uint32_t i = chosen(table).num_shards; i > 0; --i)
      unlist(first + i - 1);
  }
  choice_[table] = choice;
  mark_changed(table);
  if (chosen(table).reach == Reach::kAllRanks) return;
  SHARDWRIGHT_CHECK(ranks.size() == chosen(table).num_shards);
  const std::span<const ShardUse> uses = context_->shards(choice);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    Slot& slot = slots_[first + i];
    slot.use = uses[i];
    slot.rank = ranks[i];
    slot.position = static_cast<std::uint32_t>(shards_on_[ranks[i]].size());
    shards_on_[ranks[i]].push_back(first + i);
  }
}

void RankLoads::copy_table(std::size_t table, Allocation& into) const {
  into.choice[table] = choice_[table];
  std::vector<Rank>& ranks = into.ranks[table];
  ranks.clear();
  if (chosen(table).reach == Reach::kAllRanks) return;
  for (std::uint32_t i = 0; i < chosen(table).num_shards; ++i)
    ranks.push_back(slots_[context_->first_slot(table) + i].rank);
}

}  // namespace shardwright::embedding
