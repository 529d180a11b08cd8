#include "search/embedding/best/local/tie_breaking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace shardwright::embedding {
namespace {

// Whether all ranks that the tentative changes touched are allowed, given the bar of the loads.
bool within(const AllocationState& loads, std::int64_t peak) {
  return loads.all_good() && loads.tentative_peak_hbm() <= peak;
}

bool may_leave_rank(Reach reach) { return reach == Reach::kDevice || reach == Reach::kHost; }

// The rank where the slot's shard would leave the lowest use of HBM, below `peak`; its own where
// there is none.
Rank roomiest_rank(const AllocationState& loads, std::uint32_t index, std::int64_t peak) {
  const Slot& slot = loads.slot(index);
  const std::uint32_t local = loads.model().local_world_size();
  const bool in_host = loads.reach(slot.table) == Reach::kHost;
  const Rank first = in_host ? slot.rank / local * local : 0;
  const Rank end = in_host ? first + local : loads.model().world_size();
  Rank best = slot.rank;
  std::int64_t least = peak;
  for (Rank rank = first; rank < end; ++rank) {
    const RankLoad& at = loads.ranks()[rank];
    const std::int64_t hbm = at.hbm_bytes + slot.use.hbm_bytes;
    if (rank == slot.rank || hbm >= least || !at.has_room_for(slot.use) ||
        at.load + loads.scaled(rank, slot.use.load) >= loads.bar()) {
      continue;
    }
    if (loads.rule_gain(rank, slot.use) > 0) continue;
    least = hbm;
    best = rank;
  }
  return best;
}

// Moves one shard off a fullest rank; whether there was one to move.
bool relieve(AllocationState& loads, std::int64_t peak) {
  for (Rank rank = 0; rank < loads.ranks().size(); ++rank) {
    if (loads.ranks()[rank].hbm_bytes < peak) continue;
    for (const std::uint32_t index : loads.shards_on(rank)) {
      const Slot& slot = loads.slot(index);
      if (slot.use.hbm_bytes == 0 || !may_leave_rank(loads.reach(slot.table))) continue;
      const Rank target = roomiest_rank(loads, index, peak);
      if (target == rank) continue;
      loads.remove(rank, slot.use);
      loads.add(target, slot.use);
      loads.keep();
      loads.note_rank(index, target);
      return true;
    }
    return false;  // this one stays as full as it is
  }
  return false;
}

// Load that a table's choice puts on one rank.
double load_on(const AllocationState& loads, std::uint32_t choice, std::span<const Rank> ranks,
               Rank rank) {
  const Choice& chosen = loads.model().choices()[choice];
  double load = 0;
  std::uint32_t shard = 0;
  for (const ChoiceRun& run : loads.model().runs(chosen)) {
    for (std::uint32_t k = 0; k < run.count && !ranks.empty(); ++k)
      load += ranks[shard + k] == rank ? run.load : 0;
    if (ranks.empty() && rank - shard < run.count) return run.load;
    shard += run.count;
  }
  return load;
}

// Whether the busiest rank and those that the table would return to stay below the bar: a look
// before all ranks are changed and changed back.
bool may_return(const AllocationState& loads, std::uint32_t table, const Allocation& reference,
                Rank busiest) {
  constexpr double kRounding = 1e-9;
  const std::uint32_t old = reference.choice[table];
  const bool everywhere = loads.chosen(table).reach == Reach::kAllRanks ||
                          loads.model().choices()[old].reach == Reach::kAllRanks;
  if (!everywhere || loads.context().units().unit_of(table) != TableUnits::kNone) return true;
  std::vector<Rank> own;
  if (loads.chosen(table).reach != Reach::kAllRanks) {
    for (std::uint32_t i = 0; i < loads.chosen(table).num_shards; ++i)
      own.push_back(loads.slot(loads.context().first_slot(table) + i).rank);
  }
  const auto stays_below = [&](Rank rank) {
    const double change = load_on(loads, old, reference.ranks[table], rank) -
                          load_on(loads, loads.choice(table), own, rank);
    return loads.ranks()[rank].load + loads.scaled(rank, change) < loads.bar() * (1 + kRounding);
  };
  const std::vector<Rank>& ranks = reference.ranks[table];
  return stays_below(busiest) && std::all_of(ranks.begin(), ranks.end(), stays_below);
}

// With all tables that it is kept together with.
bool return_table(AllocationState& loads, std::uint32_t table, const Allocation& reference,
                  std::int64_t peak) {
  const TableUnits& units = loads.context().units();
  const std::uint32_t unit = units.unit_of(table);
  std::span<const std::uint32_t> tables(&table, 1);
  if (unit != TableUnits::kNone) tables = units.units()[unit].tables;
  for (const std::uint32_t member : tables)
    loads.take_away(member);
  for (const std::uint32_t member : tables) {
    const std::uint32_t choice = reference.choice[member];
    const Choice& old = loads.model().choices()[choice];
    if (old.reach == Reach::kAllRanks) loads.add_everywhere(old);
    for (std::size_t i = 0; i < reference.ranks[member].size(); ++i)
      loads.add(reference.ranks[member][i], loads.context().shards(choice)[i]);
  }
  if (!within(loads, peak)) {
    loads.take_back();
    return false;
  }
  loads.keep();
  for (const std::uint32_t member : tables)
    loads.note_choice(member, reference.choice[member], reference.ranks[member]);
  return true;
}

bool return_shard(AllocationState& loads, std::uint32_t index, Rank rank, std::int64_t peak) {
  const Slot& slot = loads.slot(index);
  if (slot.rank == rank) return false;
  loads.remove(slot.rank, slot.use);
  loads.add(rank, slot.use);
  if (!within(loads, peak)) {
    loads.take_back();
    return false;
  }
  loads.keep();
  loads.note_rank(index, rank);
  return true;
}

bool is_at(const AllocationState& loads, std::size_t table, const Allocation& reference) {
  if (loads.choice(table) != reference.choice[table]) return false;
  const std::vector<Rank>& ranks = reference.ranks[table];
  const std::uint32_t first = loads.context().first_slot(table);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    if (loads.slot(first + i).rank != ranks[i]) return false;
  }
  return true;
}

// Returns what can be; whether anything was. What has returned makes room for others.
bool return_some(AllocationState& loads, const Allocation& reference, std::int64_t peak) {
  bool any = false;
  const std::span<const RankLoad> ranks = loads.ranks();
  const auto busiest = static_cast<Rank>(
      std::max_element(ranks.begin(), ranks.end(),
                       [](const RankLoad& a, const RankLoad& b) { return a.load < b.load; }) -
      ranks.begin());
  for (std::uint32_t table = 0; table < loads.model().num_tables(); ++table) {
    if (is_at(loads, table, reference)) continue;
    if (may_return(loads, table, reference, busiest) &&
        return_table(loads, table, reference, peak)) {
      any = true;
      continue;
    }
    if (loads.choice(table) != reference.choice[table] ||
        loads.chosen(table).reach != Reach::kDevice) {
      continue;
    }
    const std::uint32_t first = loads.context().first_slot(table);
    for (std::uint32_t i = 0; i < loads.chosen(table).num_shards; ++i)
      any |= return_shard(loads, first + i, reference.ranks[table][i], peak);
  }
  return any;
}

}  // namespace

void break_ties(AllocationState& loads, const Allocation* reference) {
  const double bar = loads.bar();
  const double most = loads.max_load();
  loads.set_bar(std::nextafter(most, std::numeric_limits<double>::infinity()));
  while (relieve(loads, loads.peak_hbm())) {
  }
  if (reference != nullptr) {
    const std::int64_t peak = loads.peak_hbm();
    while (return_some(loads, *reference, peak)) {
    }
  }
  loads.set_bar(bar);
}

}  // namespace shardwright::embedding
