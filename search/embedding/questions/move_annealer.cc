#include "search/embedding/questions/move_annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardwright::embedding {

MoveState::MoveState(const SearchContext& context, const MoveCosts& costs, RandomGenerator& draws)
    : loads_(context),
      costs_(&costs),
      placer_(loads_, draws),
      table_cost_(context.model().num_tables(), 0),
      draws_(&draws) {}

void MoveState::assign(const Allocation& allocation) {
  loads_.assign(allocation);
  recompute();
}

void MoveState::recompute() {
  loads_.recompute();
  moved_ = 0;
  Allocation now = allocation();
  for (std::size_t table = 0; table < table_cost_.size(); ++table) {
    table_cost_[table] = costs_->cost(now.choice[table], now.ranks[table]);
    moved_ += table_cost_[table];
  }
  placer_.spend(model().world_size() + table_cost_.size());
}

Allocation MoveState::allocation() const {
  Allocation now(table_cost_.size());
  for (std::size_t table = 0; table < table_cost_.size(); ++table)
    loads_.copy_table(table, now);
  return now;
}

double MoveState::shard_cost(std::uint32_t slot, Rank rank) const {
  const std::uint32_t table = loads_.slot(slot).table;
  return costs_->cost(loads_.choice(table), slot - loads_.context().first_slot(table), rank);
}

double MoveState::shift(std::uint32_t slot, Rank to) {
  const Slot& at = loads_.slot(slot);
  const double moved = shard_cost(slot, to) - shard_cost(slot, at.rank);
  const double rise = loads_.remove(at.rank, at.use) + loads_.add(to, at.use);
  shifted_.push_back({slot, to});
  change_ += moved;
  placer_.spend(2);
  return rise + moved;
}

double MoveState::swap(std::uint32_t a, std::uint32_t b) {
  const Slot& one = loads_.slot(a);
  const Slot& other = loads_.slot(b);
  const double moved = shard_cost(a, other.rank) - shard_cost(a, one.rank) +
                       shard_cost(b, one.rank) - shard_cost(b, other.rank);
  double rise = loads_.remove(one.rank, one.use) + loads_.remove(other.rank, other.use);
  rise += loads_.add(other.rank, one.use) + loads_.add(one.rank, other.use);
  shifted_.push_back({a, other.rank});
  shifted_.push_back({b, one.rank});
  change_ += moved;
  placer_.spend(4);
  return rise + moved;
}

double MoveState::take_away(std::uint32_t table) {
  change_ -= table_cost_[table];
  return placer_.take_away(table) - table_cost_[table];
}

// Sets ranks_to_try_: `breadth` random ranks of the window, and those that hold the table.
void MoveState::draw_ranks(std::uint32_t table, const ShardUse& use, std::uint32_t breadth,
                           Window window) {
  ranks_to_try_.clear();
  if (breadth >= window.size) {
    const std::uint32_t first = draws_->below(window.size);
    for (std::uint32_t i = 0; i < window.size; ++i)
      ranks_to_try_.push_back(window.first + (first + i) % window.size);
    return;
  }
  const std::span<const Rank> holders = costs_->holders(table);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(breadth, holders.size()); ++i) {
    const Rank rank =
        holders.size() <= breadth ? holders[i] : holders[draws_->below(holders.size())];
    if (rank - window.first < window.size) ranks_to_try_.push_back(rank);
  }
  for (std::uint32_t i = 0; i < breadth; ++i)
    ranks_to_try_.push_back(placer_.draw_rank(use, window));
}

void MoveState::draw_hosts(std::uint32_t table, const ShardUse& use, std::uint32_t breadth) {
  hosts_to_try_.clear();
  const std::uint32_t hosts = model().num_hosts();
  if (breadth >= hosts) {
    for (std::uint32_t host = 0; host < hosts; ++host)
      hosts_to_try_.push_back(host);
    return;
  }
  const std::span<const Rank> holders = costs_->holders(table);
  if (!holders.empty()) {
    const Rank holder = holders[draws_->below(holders.size())];
    if (holder < model().num_hosted_ranks())
      hosts_to_try_.push_back(holder / model().local_world_size());
  }
  for (std::uint32_t i = 0; i < breadth; ++i)
    hosts_to_try_.push_back(placer_.draw_host(use));
}

double MoveState::place_in(std::uint32_t choice, std::uint32_t breadth, Window window,
                           std::vector<Rank>& ranks) {
  const std::span<const ShardUse> uses = loads_.context().shards(choice);
  const auto table = static_cast<std::uint32_t>(model().table_of(choice));
  double rise = 0;
  for (std::uint32_t shard = 0; shard < uses.size(); ++shard) {
    draw_ranks(table, uses[shard], breadth, window);
    Rank best = ranks_to_try_.front();
    double least = std::numeric_limits<double>::infinity();
    for (const Rank rank : ranks_to_try_) {
      const double own = loads_.gain(rank, uses[shard]) + costs_->cost(choice, shard, rank);
      if (own >= least) continue;
      least = own;
      best = rank;
    }
    const double moved = costs_->cost(choice, shard, best);
    rise += loads_.add(best, uses[shard]) + moved;
    change_ += moved;
    ranks.push_back(best);
    placer_.spend(ranks_to_try_.size());
  }
  return rise;
}

double MoveState::place_on_host(std::uint32_t choice, std::uint32_t breadth,
                                std::vector<Rank>& ranks) {
  const std::span<const ShardUse> uses = loads_.context().shards(choice);
  const std::uint32_t local = model().local_world_size();
  draw_hosts(static_cast<std::uint32_t>(model().table_of(choice)), uses[0], breadth);
  const std::size_t mark = loads_.num_tentative();
  const double change = change_;
  double least = std::numeric_limits<double>::infinity();
  const std::vector<std::uint32_t> hosts = hosts_to_try_;
  for (const std::uint32_t host : hosts) {
    trial_.clear();
    const double rise = place_in(choice, breadth, {host * local, local}, trial_);
    loads_.take_back(mark);
    change_ = change;
    if (rise >= least && !ranks.empty()) continue;
    least = rise;
    ranks = trial_;
  }
  double rise = 0;
  for (std::uint32_t shard = 0; shard < uses.size(); ++shard)
    rise += loads_.add(ranks[shard], uses[shard]);
  const double moved = costs_->cost(choice, ranks);
  change_ += moved;
  return rise + moved;
}

double MoveState::block_gain(std::uint32_t choice, std::uint32_t first_shard, std::uint32_t host) {
  const std::uint32_t local = model().local_world_size();
  const std::span<const ShardUse> uses = loads_.context().shards(choice);
  double gain = 0;
  for (std::uint32_t k = 0; k < local; ++k) {
    gain += loads_.gain(host * local + k, uses[first_shard + k]) +
            costs_->cost(choice, first_shard + k, host * local + k);
  }
  placer_.spend(local);
  return gain;
}

double MoveState::place_blocks(std::uint32_t choice, std::uint32_t breadth, Window window,
                               std::vector<Rank>& ranks) {
  const std::uint32_t local = model().local_world_size();
  const std::span<const ShardUse> uses = loads_.context().shards(choice);
  const auto table = static_cast<std::uint32_t>(model().table_of(choice));
  const std::uint32_t only_host = window.first / local;
  double rise = 0;
  for (std::uint32_t first = 0; first < uses.size(); first += local) {
    draw_hosts(table, uses[first], breadth);
    if (window.size < model().world_size()) hosts_to_try_.assign(1, only_host);
    std::uint32_t best = hosts_to_try_.front();
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t host : hosts_to_try_) {
      const double gain = block_gain(choice, first, host);
      if (gain >= least) continue;
      least = gain;
      best = host;
    }
    rise += placer_.add_to_host(uses.subspan(first, local), best * local);
    for (std::uint32_t k = 0; k < local; ++k)
      ranks.push_back(best * local + k);
  }
  const double moved = costs_->cost(choice, ranks);
  change_ += moved;
  return rise + moved;
}

double MoveState::place(std::uint32_t choice, std::uint32_t breadth, Window window,
                        std::vector<Rank>& ranks) {
  ranks.clear();
  const Choice& chosen = model().choices()[choice];
  if (chosen.reach == Reach::kAllRanks) {
    const double moved = costs_->cost(choice, {});
    change_ += moved;
    placer_.spend(chosen.num_shards);
    return loads_.add_everywhere(chosen) + moved;
  }
  if (chosen.reach == Reach::kHost && window.size > model().local_world_size())
    return place_on_host(choice, breadth, ranks);
  if (chosen.reach == Reach::kWholeHosts) return place_blocks(choice, breadth, window, ranks);
  return place_in(choice, breadth, window, ranks);
}

double MoveState::replace(std::uint32_t table, std::uint32_t choice, std::uint32_t breadth,
                          Window window) {
  if (num_placed_ == placed_.size()) placed_.emplace_back();
  const double rise = take_away(table);
  Replacement& replacement = placed_[num_placed_++];
  replacement.table = table;
  replacement.choice = choice;
  return rise + place(choice, breadth, window, replacement.ranks);
}

double MoveState::put(std::uint32_t table, std::uint32_t choice, std::span<const Rank> ranks) {
  const Replacement one{table, choice, {ranks.begin(), ranks.end()}};
  return put({&one, 1});
}

double MoveState::put(std::span<const Replacement> tables) {
  double rise = 0;
  for (const Replacement& replacement : tables)
    rise += take_away(replacement.table);
  for (const Replacement& own : tables) {
    const Choice& chosen = model().choices()[own.choice];
    if (chosen.reach == Reach::kAllRanks) rise += loads_.add_everywhere(chosen);
    for (std::uint32_t shard = 0; shard < own.ranks.size(); ++shard)
      rise += loads_.add(own.ranks[shard], loads_.context().shards(own.choice)[shard]);
    const double moved = costs_->cost(own.choice, own.ranks);
    change_ += moved;
    rise += moved;
    placer_.spend(chosen.num_shards);
    if (num_placed_ == placed_.size()) placed_.emplace_back();
    placed_[num_placed_++] = own;
  }
  return rise;
}

double MoveState::replace_unit(std::span<Replacement> members, std::uint32_t tries,
                               std::uint32_t breadth) {
  double rise = 0;
  for (const Replacement& member : members)
    rise += take_away(member.table);
  rise += placer_.place_unit(members, tries, breadth);
  for (const Replacement& member : members) {
    const double moved = costs_->cost(member.choice, member.ranks);
    change_ += moved;
    rise += moved;
    if (num_placed_ == placed_.size()) placed_.emplace_back();
    placed_[num_placed_++] = member;
  }
  return rise;
}

void MoveState::keep() {
  loads_.keep();
  moved_ += change_;
  for (const auto& [slot, rank] : shifted_) {
    const std::uint32_t table = loads_.slot(slot).table;
    table_cost_[table] += shard_cost(slot, rank) - shard_cost(slot, loads_.slot(slot).rank);
    loads_.note_rank(slot, rank);
  }
  for (std::size_t i = 0; i < num_placed_; ++i) {
    const Replacement& replacement = placed_[i];
    loads_.note_choice(replacement.table, replacement.choice, replacement.ranks);
    table_cost_[replacement.table] = costs_->cost(replacement.choice, replacement.ranks);
  }
  change_ = 0;
  shifted_.clear();
  num_placed_ = 0;
}

void MoveState::undo() {
  loads_.take_back();
  change_ = 0;
  shifted_.clear();
  num_placed_ = 0;
}

namespace {

constexpr std::uint32_t kSixteenths = 16;
constexpr double kEqualCosts = 1e-12;  // relative difference of equal costs
constexpr double kNoStep = 0;          // change of energy of a step without effect

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

// Returns true if the present allocation, if its largest load is `load`, is better than best_.
bool MoveAnnealer::is_better(double load) const {
  if (!best_) return true;
  const double moved = state_.moved();
  if (moves_count_ == MovesCount::kInCost) return load + moved < best_->cost * (1 - kEqualCosts);
  return load < best_->cost * (1 - kEqualCosts) ||
         (load <= best_->cost * (1 + kEqualCosts) && moved < best_->moved * (1 - kEqualCosts));
}

void MoveAnnealer::note_if_better() {
  if (!state_.is_feasible() || state_.moved() > parameters_.most_moved) return;
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

// Returns the busiest of a few random ranks.
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

// Draws a choice of the table; every second time, the cheaper of two drawn choices.
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

// Moves all shards of the table on `from` to `to` and, every second time, those on `to` to `from`.
// Large tables would take too many steps shard by shard.
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

// Moves the shard to a random rank, and a random shard of this rank to another rank.
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
  if (reach == Reach::kDevice && context_->units().colocation(ejected.table) == Colocation::kNone &&
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
  const bool bonded = context_->units().colocation(table) != Colocation::kNone;
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
