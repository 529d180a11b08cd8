#include "search/embedding/best/incumbent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace shardwright::embedding {

void Incumbent::set_reference(std::shared_ptr<const Allocation> reference) {
  if (!reference_) reference_ = std::move(reference);
}

bool Incumbent::offer(Allocation allocation) {
  scratch_.assign(allocation);
  if (!scratch_.all_good()) return false;
  RatedAllocation rated{std::move(allocation), scratch_.max_load(), scratch_.peak_hbm()};
  if (best_ && !is_better(rated, *best_)) return false;
  best_ = std::move(rated);
  settled_ = false;
  return true;
}

bool Incumbent::offer(const RatedPlan& found, AllocationState& state) {
  if (best_ && !is_better(found, *best_)) return false;
  if (!best_) begin(state);
  const ChoiceModel& model = state.model();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    if (take_table(model, table, found.plan[table], best_->allocation)) state.mark_changed(table);
  }
  best_->rating = found.rating;
  best_->peak_hbm_bytes = found.peak_hbm_bytes;
  settled_ = false;
  return true;
}

// Begins with an empty allocation. The state may differ from it in any table.
void Incumbent::begin(AllocationState& state) {
  best_.emplace().allocation = Allocation(state.model().num_tables());
  state.mark_all_changed();
}

void Incumbent::keep(AllocationState& state) {
  if (!best_) begin(state);
  for (const std::uint32_t table : state.changed_tables())
    state.copy_table(table, best_->allocation);
  state.clear_changed();
  best_->rating = state.max_load();
  best_->peak_hbm_bytes = state.peak_hbm();
  settled_ = false;
}

std::span<const std::uint32_t> Incumbent::settle(std::uint64_t most_work, const Budget& budget) {
  constexpr std::uint64_t kPasses = 6;      // to assign, recompute, and find rating and peak
  constexpr std::uint64_t kTableWork = 16;  // to assign and recompute
  if (settled_) return {};
  settled_ = true;
  scratch_.assign(best_->allocation);
  scratch_.clear_changed();
  settling_work_ += kPasses * scratch_.pass_work() + kTableWork * scratch_.model().num_tables() +
                    break_ties(scratch_, reference_.get(), most_work, budget);
  for (const std::uint32_t table : scratch_.changed_tables())
    scratch_.copy_table(table, best_->allocation);
  scratch_.recompute();
  best_->rating = scratch_.max_load();
  best_->peak_hbm_bytes = scratch_.peak_hbm();
  return scratch_.changed_tables();
}

namespace {

// Counts the work of breaking ties, up to a limit or a stop.
// Thread safety: one thread at a time.
class TieWork {
 public:
  TieWork(std::uint64_t most, const Budget& budget) : stopped_(budget), most_(most) {}

  void spend(std::uint64_t work) { done_ += work; }
  std::uint64_t done() const { return done_; }
  bool is_over() { return done_ >= most_ || stopped_(done_); }

 private:
  StopCheck stopped_;
  std::uint64_t most_;
  std::uint64_t done_ = 0;
};

// Returns true if the tentative state is feasible and below the bar, and its HBM within the peak.
bool within(const AllocationState& state, std::int64_t peak) {
  return state.all_good() && state.tentative_peak_hbm() <= peak;
}

bool may_leave_rank(Reach reach) { return reach == Reach::kDevice || reach == Reach::kHost; }

// Returns the rank that would use the least HBM with the slot's shard, if this is less than `peak`;
// otherwise the shard's own rank.
Rank roomiest_rank(const AllocationState& state, std::uint32_t index, std::int64_t peak) {
  const Slot& slot = state.slot(index);
  const std::uint32_t local = state.model().local_world_size();
  const bool in_host = state.reach(slot.table) == Reach::kHost;
  const Rank first = in_host ? slot.rank / local * local : 0;
  const Rank end = in_host ? first + local : state.model().world_size();
  Rank best = slot.rank;
  std::int64_t least = peak;
  for (Rank rank = first; rank < end; ++rank) {
    const RankLoad& at = state.ranks()[rank];
    const std::int64_t hbm = (at.held() + slot.use.storage).hbm.value();
    if (rank == slot.rank || hbm >= least || !at.has_room_for(slot.use) ||
        at.load + state.scaled(rank, slot.use.load) >= state.bar()) {
      continue;
    }
    if (state.rule_gain(rank, slot.use) > 0) continue;
    least = hbm;
    best = rank;
  }
  return best;
}

// Moves one shard away from a fullest rank. Returns false if no shard can move or the work is used
// up.
bool relieve(AllocationState& state, std::int64_t peak, TieWork& work) {
  work.spend(1 + 2 * state.pass_work());
  for (Rank rank = 0; rank < state.ranks().size(); ++rank) {
    if (state.ranks()[rank].held().hbm.value() < peak) continue;
    for (const std::uint32_t index : state.shards_on(rank)) {
      const Slot& slot = state.slot(index);
      if (slot.use.storage.hbm == Bytes() || !may_leave_rank(state.reach(slot.table))) continue;
      if (work.is_over()) return false;
      work.spend(1 + state.pass_work());
      const Rank target = roomiest_rank(state, index, peak);
      if (target == rank) continue;
      state.remove(rank, slot.use);
      state.add(target, slot.use);
      state.keep();
      state.note_rank(index, target);
      return true;
    }
    return false;  // the rank stays the fullest
  }
  return false;
}

// The load of a choice on one rank.
double load_on(const AllocationState& state, std::uint32_t choice, std::span<const Rank> ranks,
               Rank rank) {
  const Choice& chosen = state.model().choices()[choice];
  double load = 0;
  std::uint32_t shard = 0;
  for (const ChoiceRun& run : state.model().runs(chosen)) {
    for (std::uint32_t k = 0; k < run.count && !ranks.empty(); ++k)
      load += ranks[shard + k] == rank ? run.load : 0;
    if (ranks.empty() && rank - shard < run.count) return run.load;
    shard += run.count;
  }
  return load;
}

// Returns true if the busiest rank and the table's reference ranks would stay below the bar. This
// test is cheaper than a tentative change.
bool may_return(const AllocationState& state, std::uint32_t table, const Allocation& reference,
                Rank busiest) {
  constexpr double kRounding = 1e-9;
  const std::uint32_t old = reference.choice[table];
  const bool everywhere = state.chosen(table).reach == Reach::kAllRanks ||
                          state.model().choices()[old].reach == Reach::kAllRanks;
  if (!everywhere || state.context().units().unit_of(table) != TableUnits::kNone) return true;
  std::vector<Rank> own;
  if (state.chosen(table).reach != Reach::kAllRanks) {
    for (std::uint32_t i = 0; i < state.chosen(table).num_shards; ++i)
      own.push_back(state.slot(state.context().first_slot(table) + i).rank);
  }
  const auto stays_below = [&](Rank rank) {
    const double change = load_on(state, old, reference.ranks[table], rank) -
                          load_on(state, state.choice(table), own, rank);
    return state.ranks()[rank].load + state.scaled(rank, change) < state.bar() * (1 + kRounding);
  };
  const std::vector<Rank>& ranks = reference.ranks[table];
  return stays_below(busiest) && std::all_of(ranks.begin(), ranks.end(), stays_below);
}

// Moves the table and all tables bonded to it to their reference places, if ties allow it.
bool return_table(AllocationState& state, std::uint32_t table, const Allocation& reference,
                  std::int64_t peak) {
  const TableUnits& units = state.context().units();
  const std::uint32_t unit = units.unit_of(table);
  std::span<const std::uint32_t> tables(&table, 1);
  if (unit != TableUnits::kNone) tables = units.units()[unit].tables;
  for (const std::uint32_t member : tables)
    state.take_away(member);
  for (const std::uint32_t member : tables) {
    const std::uint32_t choice = reference.choice[member];
    const Choice& old = state.model().choices()[choice];
    if (old.reach == Reach::kAllRanks) state.add_everywhere(old);
    for (std::size_t i = 0; i < reference.ranks[member].size(); ++i)
      state.add(reference.ranks[member][i], state.context().shards(choice)[i]);
  }
  if (!within(state, peak)) {
    state.take_back();
    return false;
  }
  state.keep();
  for (const std::uint32_t member : tables)
    state.note_choice(member, reference.choice[member], reference.ranks[member]);
  return true;
}

bool return_shard(AllocationState& state, std::uint32_t index, Rank rank, std::int64_t peak) {
  const Slot& slot = state.slot(index);
  if (slot.rank == rank) return false;
  state.remove(slot.rank, slot.use);
  state.add(rank, slot.use);
  if (!within(state, peak)) {
    state.take_back();
    return false;
  }
  state.keep();
  state.note_rank(index, rank);
  return true;
}

bool is_at(const AllocationState& state, std::size_t table, const Allocation& reference) {
  if (state.choice(table) != reference.choice[table]) return false;
  const std::vector<Rank>& ranks = reference.ranks[table];
  const std::uint32_t first = state.context().first_slot(table);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    if (state.slot(first + i).rank != ranks[i]) return false;
  }
  return true;
}

// Moves tables and shards to their reference places where ties allow it, in one pass. Returns true
// if any moved; another pass may then move more.
bool return_some(AllocationState& state, const Allocation& reference, std::int64_t peak,
                 TieWork& work) {
  bool any = false;
  work.spend(state.pass_work());
  const std::span<const RankLoad> ranks = state.ranks();
  const auto busiest = static_cast<Rank>(
      std::max_element(ranks.begin(), ranks.end(),
                       [](const RankLoad& a, const RankLoad& b) { return a.load < b.load; }) -
      ranks.begin());
  for (std::uint32_t table = 0; table < state.model().num_tables() && !work.is_over(); ++table) {
    work.spend(1);
    if (is_at(state, table, reference)) continue;
    work.spend(std::uint64_t{2} * (state.chosen(table).num_shards +
                                   state.model().choices()[reference.choice[table]].num_shards));
    if (may_return(state, table, reference, busiest) &&
        return_table(state, table, reference, peak)) {
      any = true;
      continue;
    }
    if (state.choice(table) != reference.choice[table] ||
        state.chosen(table).reach != Reach::kDevice) {
      continue;
    }
    const std::uint32_t first = state.context().first_slot(table);
    for (std::uint32_t i = 0; i < state.chosen(table).num_shards; ++i)
      any |= return_shard(state, first + i, reference.ranks[table][i], peak);
  }
  return any;
}

}  // namespace

std::uint64_t break_ties(AllocationState& state, const Allocation* reference, std::uint64_t most,
                         const Budget& budget) {
  TieWork work(most, budget);
  const double bar = state.bar();
  state.set_bar(std::nextafter(state.max_load(), std::numeric_limits<double>::infinity()));
  while (!work.is_over() && relieve(state, state.peak_hbm(), work)) {
  }
  if (reference != nullptr) {
    const std::int64_t peak = state.peak_hbm();
    while (!work.is_over() && return_some(state, *reference, peak, work)) {
    }
  }
  state.set_bar(bar);
  return work.done();
}

}  // namespace shardwright::embedding
