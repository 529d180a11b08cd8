#include "search/embedding/questions/replan/move_state.h"

#include <algorithm>
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

// The ranks of the window that hold a part of the table, and `breadth` random ones.
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
  Replacement& own = placed_[num_placed_++];
  own.table = table;
  own.choice = choice;
  return rise + place(choice, breadth, window, own.ranks);
}

double MoveState::put(std::uint32_t table, std::uint32_t choice, std::span<const Rank> ranks) {
  const Replacement one{table, choice, {ranks.begin(), ranks.end()}};
  return put({&one, 1});
}

double MoveState::put(std::span<const Replacement> tables) {
  double rise = 0;
  for (const Replacement& own : tables)
    rise += take_away(own.table);
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
    const Replacement& own = placed_[i];
    loads_.note_choice(own.table, own.choice, own.ranks);
    table_cost_[own.table] = costs_->cost(own.choice, own.ranks);
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

}  // namespace shardwright::embedding
