#include "search/embedding/questions/replan/move_annealer.h"

#include <algorithm>
#include <cmath>

namespace shardwright::embedding {
namespace {

constexpr std::uint32_t kSixteenths = 16;
constexpr double kEqualCosts = 1e-12;  // relative; less is rounding
constexpr double kNoStep = 0;          // nothing changed

}  // namespace

MoveAnnealer::MoveAnnealer(const SearchContext& context, const MoveCosts& costs,
                           const Allocation& home, MovesCount moves_count, std::uint64_t seed,
                           const ReplanMoveParameters& parameters)
    : parameters_(parameters),
      context_(&context),
      home_(&home),
      moves_count_(moves_count),
      random_(seed),
      state_(context, costs, random_),
      fitting_(context.model().num_tables()) {
  for (std::uint32_t table = 0; table < fitting_.size(); ++table) {
    const std::uint32_t first = context.model().first_choice(table);
    for (std::uint32_t i = 0; i < context.model().choices(table).size(); ++i) {
      if (context.fits(first + i)) fitting_[table].push_back(first + i);
    }
  }
}

void MoveAnnealer::offer(const Allocation& allocation) {
  state_.assign(allocation);
  state_.loads().mark_all_changed();
  note_if_better();
}

// With this largest load, or a larger one, and what moves now.
bool MoveAnnealer::is_better(double load) const {
  if (!best_) return true;
  const double moved = state_.moved();
  if (moves_count_ == MovesCount::kInCost) return load + moved < best_->cost * (1 - kEqualCosts);
  return load < best_->cost * (1 - kEqualCosts) ||
         (load <= best_->cost * (1 + kEqualCosts) && moved < best_->moved * (1 - kEqualCosts));
}

void MoveAnnealer::note_if_better() {
  if (!state_.is_feasible()) return;
  const std::span<const RankLoad> ranks = state_.loads().ranks();
  if (!is_better(ranks[busiest_].load)) return;
  const auto busiest =
      std::max_element(ranks.begin(), ranks.end(),
                       [](const RankLoad& a, const RankLoad& b) { return a.load < b.load; });
  busiest_ = static_cast<Rank>(busiest - ranks.begin());
  state_.placer().spend(ranks.size());
  if (!is_better(busiest->load)) return;
  AllocationState& loads = state_.loads();
  if (!best_) {
    best_ = CostedAllocation{state_.allocation()};
  } else {
    for (const std::uint32_t table : loads.changed_tables())
      loads.copy_table(table, best_->allocation);
  }
  best_->moved = state_.moved();
  best_->cost = busiest->load + (moves_count_ == MovesCount::kInCost ? best_->moved : 0);
  loads.clear_changed();
}

// The busiest of a few ranks.
Rank MoveAnnealer::draw_busy() {
  const std::span<const RankLoad> ranks = state_.loads().ranks();
  Rank busiest = random_.below(ranks.size());
  for (std::uint32_t i = 1; i < parameters_.breadth; ++i) {
    const Rank rank = random_.below(ranks.size());
    if (ranks[rank].energy > ranks[busiest].energy ||
        (ranks[rank].energy == ranks[busiest].energy && ranks[rank].load > ranks[busiest].load))
      busiest = rank;
  }
  return busiest;
}

MoveAnnealer::Pick MoveAnnealer::pick() {
  const AllocationState& loads = state_.loads();
  if (random_.coin()) {
    const std::span<const std::uint32_t> shards = loads.shards_on(draw_busy());
    if (!shards.empty()) {
      const std::uint32_t slot = shards[random_.below(shards.size())];
      return {loads.slot(slot).table, slot};
    }
  }
  const std::uint32_t table = random_.below(fitting_.size());
  const std::uint32_t first = context_->first_slot(table);
  if (loads.chosen(table).reach == Reach::kAllRanks) return {table, first};
  return {table, first + random_.below(loads.chosen(table).num_shards)};
}

// The cheaper of two choices, every second time.
std::uint32_t MoveAnnealer::draw_choice(std::uint32_t table) {
  const std::vector<std::uint32_t>& choices = fitting_[table];
  if (choices.empty()) return state_.loads().choice(table);
  const std::uint32_t one = choices[random_.below(choices.size())];
  if (random_.coin()) return one;
  const std::uint32_t other = choices[random_.below(choices.size())];
  const std::span<const Choice> all = context_->model().choices();
  return context_->priced(all[other]) < context_->priced(all[one]) ? other : one;
}

std::uint32_t MoveAnnealer::draw_breadth() {
  const std::uint32_t world = context_->model().world_size();
  if (world <= parameters_.most_breadth && random_.coin()) return world;
  return 1 + random_.below(parameters_.breadth);
}

Window MoveAnnealer::window_of(const Slot& slot) const {
  const std::uint32_t local = context_->model().local_world_size();
  if (state_.loads().reach(slot.table) == Reach::kHost) return {slot.rank / local * local, local};
  return {0, context_->model().world_size()};
}

void MoveAnnealer::begin_unit(std::uint32_t table) {
  members_.clear();
  const TableUnits& units = context_->units();
  for (const std::uint32_t member : units.units()[units.unit_of(table)].tables)
    members_.push_back({member, state_.loads().choice(member), {}});
}

double MoveAnnealer::go_home(std::uint32_t table) {
  if (context_->units().unit_of(table) == TableUnits::kNone)
    return state_.put(table, home_->choice[table], home_->ranks[table]);
  begin_unit(table);
  for (Replacement& member : members_) {
    member.choice = home_->choice[member.table];
    member.ranks = home_->ranks[member.table];
  }
  return state_.put(members_);
}

double MoveAnnealer::change_choice(std::uint32_t table) {
  const std::uint32_t choice = random_.coin() ? draw_choice(table) : state_.loads().choice(table);
  const Window window = state_.placer().new_window(table, choice, parameters_.whole_place_one_in);
  return state_.replace(table, choice, draw_breadth(), window);
}

double MoveAnnealer::change_unit(std::uint32_t table) {
  begin_unit(table);
  const std::uint32_t kind = random_.below(4);
  for (Replacement& member : members_) {
    if (kind == 1 && member.table == table) member.choice = draw_choice(table);
    if (kind == 2) member.choice = home_->choice[member.table];
    if (kind == 3) member.choice = draw_choice(member.table);
  }
  return state_.replace_unit(members_, 1, draw_breadth());
}

double MoveAnnealer::shift(std::uint32_t slot) {
  const Slot& at = state_.loads().slot(slot);
  const Window window = window_of(at);
  const std::span<const Rank> holders = state_.costs().holders(at.table);
  Rank to = state_.placer().draw_rank(at.use, window);
  if (!holders.empty() && random_.below(4) == 0) to = holders[random_.below(holders.size())];
  if (to == at.rank || to - window.first >= window.size) return kNoStep;
  if (random_.one_in(parameters_.all_shards_one_in)) return shift_all(at.table, at.rank, to);
  return state_.shift(slot, to);
}

// Moves all shards that the table has on one rank to another, and every second time those that it
// has there back: a table of many shards is too slow to move one by one.
double MoveAnnealer::shift_all(std::uint32_t table, Rank from, Rank to) {
  const bool exchange = random_.coin();
  const std::uint32_t first = context_->first_slot(table);
  const std::uint32_t num_shards = state_.loads().chosen(table).num_shards;
  state_.placer().spend(num_shards);
  double rise = 0;
  for (std::uint32_t i = 0; i < num_shards; ++i) {
    const Rank rank = state_.loads().slot(first + i).rank;
    if (rank == from) rise += state_.shift(first + i, to);
    if (rank == to && exchange) rise += state_.shift(first + i, from);
  }
  return rise;
}

double MoveAnnealer::swap(std::uint32_t slot) {
  const AllocationState& loads = state_.loads();
  const Slot& at = loads.slot(slot);
  const std::uint32_t local = context_->model().local_world_size();
  const Rank to = state_.placer().draw_rank(at.use, window_of(at));
  const std::span<const std::uint32_t> there = loads.shards_on(to);
  if (to == at.rank || there.empty()) return kNoStep;
  const std::uint32_t other = there[random_.below(there.size())];
  const Reach reach = loads.reach(loads.slot(other).table);
  if (reach == Reach::kWholeHosts) return kNoStep;
  if (reach == Reach::kHost && to / local != at.rank / local) return kNoStep;
  return state_.swap(slot, other);
}

// Moves the shard to a rank, and a shard of that rank elsewhere.
double MoveAnnealer::eject(std::uint32_t slot) {
  const AllocationState& loads = state_.loads();
  const Slot& at = loads.slot(slot);
  const Rank to = state_.placer().draw_rank(at.use, window_of(at));
  const std::span<const std::uint32_t> there = loads.shards_on(to);
  if (to == at.rank || there.empty()) return kNoStep;
  const std::uint32_t other = there[random_.below(there.size())];
  const Slot& ejected = loads.slot(other);
  const Reach reach = loads.reach(ejected.table);
  if (reach == Reach::kWholeHosts) return kNoStep;
  const double rise = state_.shift(slot, to);
  if (reach == Reach::kDevice && context_->units().bond(ejected.table) == Bond::kNone &&
      ejected.table != at.table && random_.coin())
    return rise + state_.replace(ejected.table, draw_choice(ejected.table), draw_breadth(),
                                 state_.placer().all_ranks());
  const Rank next = state_.placer().draw_rank(ejected.use, window_of(ejected));
  return next == to ? rise : rise + state_.shift(other, next);
}

double MoveAnnealer::try_step() {
  const auto [table, slot] = pick();
  const std::uint32_t kind = random_.below(kSixteenths);
  const std::uint32_t choice_from = parameters_.home_sixteenths;
  const std::uint32_t shift_from = choice_from + parameters_.choice_sixteenths;
  const std::uint32_t swap_from = shift_from + parameters_.shift_sixteenths;
  const Reach reach = state_.loads().reach(table);
  const bool bonded = context_->units().bond(table) != Bond::kNone;
  if (kind < choice_from) return go_home(table);
  if (bonded && (kind < shift_from || reach == Reach::kWholeHosts) && random_.coin())
    return change_unit(table);
  if (reach >= Reach::kWholeHosts || kind < shift_from) return change_choice(table);
  if (kind < swap_from) return shift(slot);
  if (kind < swap_from + parameters_.swap_sixteenths) return swap(slot);
  return eject(slot);
}

void MoveAnnealer::cool(const Allocation& start, const Cooling& cooling, const Budget& budget) {
  const std::uint64_t begin = work();
  state_.loads().set_goal({cooling.target, 1, parameters_.memory_weight * cooling.scale, false,
                           parameters_.rule_weight * cooling.scale});
  state_.assign(start);
  state_.loads().mark_all_changed();
  const double ratio = cooling.cold / cooling.hot;
  double temperature = cooling.hot;
  std::uint64_t next_check = 0;
  for (std::uint64_t step = 0; step < cooling.steps; ++step) {
    if (step % parameters_.steps_between_checks == 0 || work() >= next_check) {
      next_check = work() + parameters_.work_between_checks;
      if (!budget.work_left(work() - begin) || budget.interrupted()) return;
      const double part = static_cast<double>(step) / static_cast<double>(cooling.steps);
      temperature = cooling.hot * std::pow(ratio, part);
    }
    state_.placer().spend(1);
    const double rise = try_step();
    if (rise > 0 && rise > -temperature * std::log(1 - random_.fraction())) {
      state_.undo();
      continue;
    }
    state_.keep();
    note_if_better();
  }
}

}  // namespace shardwright::embedding
