#include "search/embedding/model/energy_placer.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {

Window EnergyPlacer::host_of(Rank rank) const {
  const std::uint32_t local = loads_->model().local_world_size();
  return {rank / local * local, local};
}

Window EnergyPlacer::own_window(std::size_t table) const {
  const Colocation colocation = loads_->context().units().colocation(table);
  if (colocation == Colocation::kNone || loads_->own_reach(table) == Reach::kAllRanks)
    return all_ranks();
  const Rank rank = loads_->slot(loads_->context().first_slot(table)).rank;
  return colocation == Colocation::kRank ? Window{rank, 1} : host_of(rank);
}

Window EnergyPlacer::new_window(std::uint32_t table, std::uint32_t choice,
                                std::uint64_t whole_place_one_in) {
  const Window window = own_window(table);
  const ChoiceModel& model = loads_->model();
  const Reach reach = model.choices()[choice].reach;
  if (reach == Reach::kAllRanks || window.size < model.world_size()) return window;
  const ShardUse& first = loads_->context().shards(choice)[0];
  if (first.table == ShardUse::kUnruled || !draws_->one_in(whole_place_one_in)) return window;
  const std::uint32_t local = draws_->coin() ? 1 : model.local_world_size();
  const Rank rank = draw_rank(first, window) / local * local;
  const bool needs_host = local > 1 || reach != Reach::kDevice;
  return needs_host && rank >= model.num_hosted_ranks() ? window : Window{rank, local};
}

Rank EnergyPlacer::draw_rank(const ShardUse& use, Window window) {
  if (use.table != ShardUse::kUnruled) [[unlikely]] {
    const RankSet* const allowed = loads_->rules().allowed(use.table, use.shard);
    if (allowed != nullptr) {
      const std::span<const Rank> ranks = allowed->ranks();
      const auto begin = std::lower_bound(ranks.begin(), ranks.end(), window.first);
      const auto end = std::lower_bound(begin, ranks.end(), window.first + window.size);
      if (begin != end) return begin[draws_->below(static_cast<std::size_t>(end - begin))];
    }
  }
  return window.first + draws_->below(window.size);
}

std::uint32_t EnergyPlacer::draw_host(const ShardUse& use) {
  if (use.table == ShardUse::kUnruled) return draws_->below(loads_->model().num_hosts());
  const Window hosted{0, loads_->model().num_hosted_ranks()};
  return draw_rank(use, hosted) / loads_->model().local_world_size();
}

Rank EnergyPlacer::cheapest_rank(const ShardUse& use, Window window, std::uint32_t breadth) {
  const auto [first, size] = window;
  const std::uint32_t tries = std::min(breadth, size);
  Rank best = draw_rank(use, window);
  std::uint32_t at = best - first;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < tries; ++i) {
    const double gain = loads_->gain(first + at, use);
    if (gain < least) {
      least = gain;
      best = first + at;
    }
    if (tries == size) {
      if (++at == size) at = 0;
    } else {
      at = draw_rank(use, window) - first;
    }
  }
  work_ += tries;
  return best;
}

double EnergyPlacer::place_in(std::span<const ShardUse> uses, Window window, std::uint32_t breadth,
                              std::vector<Rank>& ranks) {
  double gained = 0;
  for (const ShardUse& use : uses) {
    const Rank rank = cheapest_rank(use, window, breadth);
    gained += loads_->add(rank, use);
    ranks.push_back(rank);
  }
  return gained;
}

double EnergyPlacer::place_one_host(std::span<const ShardUse> uses, std::uint32_t breadth,
                                    std::vector<Rank>& ranks) {
  const std::uint32_t hosts = loads_->model().num_hosts();
  const std::uint32_t local = loads_->model().local_world_size();
  const std::uint32_t tries = std::min(breadth, hosts);
  const std::size_t mark = loads_->num_tentative();
  double least = std::numeric_limits<double>::infinity();
  std::uint32_t host = draw_host(uses[0]);
  for (std::uint32_t i = 0; i < tries; ++i) {
    trial_.clear();
    const double gained = place_in(uses, {host * local, local}, breadth, trial_);
    loads_->take_back(mark);
    if (gained < least || i == 0) {
      least = gained;
      ranks = trial_;
    }
    host = tries == hosts ? (host + 1) % hosts : draw_host(uses[0]);
  }
  double gained = 0;
  for (std::size_t i = 0; i < uses.size(); ++i)
    gained += loads_->add(ranks[i], uses[i]);
  work_ += 2 * uses.size();
  return gained;
}

double EnergyPlacer::add_to_host(std::span<const ShardUse> uses, Rank first_rank) {
  double gained = 0;
  for (const ShardUse& use : uses)
    gained += loads_->add(first_rank++, use);
  work_ += uses.size();
  return gained;
}

double EnergyPlacer::place_hosts(std::span<const ShardUse> uses, std::uint32_t breadth,
                                 std::vector<Rank>& ranks, Window window) {
  const std::uint32_t hosts = loads_->model().num_hosts();
  const std::uint32_t local = loads_->model().local_world_size();
  const bool given = window.size < loads_->model().world_size();
  const std::uint32_t tries = given ? 1 : std::min(breadth, hosts);
  double total = 0;
  for (std::size_t done = 0; done < uses.size(); done += local) {
    const auto block = uses.subspan(done, local);
    std::uint32_t host = given ? window.first / local : draw_host(block[0]);
    std::uint32_t best = host;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < tries; ++i) {
      double gain = 0;
      for (std::uint32_t k = 0; k < local; ++k)
        gain += loads_->gain(host * local + k, block[k]);
      if (gain < least) {
        least = gain;
        best = host;
      }
      host = tries == hosts ? (host + 1) % hosts : draw_host(block[0]);
    }
    work_ += std::uint64_t{tries} * local;
    total += add_to_host(block, best * local);
    for (std::uint32_t k = 0; k < local; ++k)
      ranks.push_back(best * local + k);
  }
  return total;
}

double EnergyPlacer::place(std::uint32_t choice, std::uint32_t breadth, std::vector<Rank>& ranks,
                           Window window) {
  const Choice& chosen = loads_->model().choices()[choice];
  ranks.clear();
  if (chosen.reach == Reach::kAllRanks) {
    work_ += chosen.num_shards;
    return loads_->add_everywhere(chosen);
  }
  const std::span<const ShardUse> uses = loads_->context().shards(choice);
  if (chosen.reach == Reach::kHost && window.size > loads_->model().local_world_size())
    return place_one_host(uses, breadth, ranks);
  if (chosen.reach == Reach::kWholeHosts) return place_hosts(uses, breadth, ranks, window);
  return place_in(uses, window, breadth, ranks);
}

Rank EnergyPlacer::cheapest_for_part(std::span<const Replacement> members, std::uint32_t part,
                                     Window window, std::uint32_t breadth) {
  const SearchContext& context = loads_->context();
  ShardUse all;
  for (const Replacement& member : members) {
    if (context.units().part_of(member.table) != part) continue;
    const Choice& choice = loads_->model().choices()[member.choice];
    all.load += choice.load;
    all.storage += choice.storage;
  }
  Rank best = window.first;
  double least = std::numeric_limits<double>::infinity();
  const bool every = breadth >= window.size;
  for (std::uint32_t i = 0; i < std::min(breadth, window.size); ++i) {
    const Rank rank = every ? window.first + i : window.first + draws_->below(window.size);
    double gain = loads_->gain(rank, all);
    for (const Replacement& member : members) {
      if (context.units().part_of(member.table) != part) continue;
      for (const ShardUse& use : context.shards(member.choice))
        gain += loads_->rule_gain(rank, use);
    }
    if (gain < least) {
      least = gain;
      best = rank;
    }
  }
  return best;
}

// A part is named by its table of the lowest number, which is placed first.
double EnergyPlacer::place_unit_in(std::span<Replacement> members, Window window,
                                   std::uint32_t breadth) {
  const TableUnits& units = loads_->context().units();
  double gained = 0;
  for (Replacement& member : members) {
    const std::uint32_t part = units.part_of(member.table);
    Window own = window;
    if (part == member.table && window.size > 1) {
      own = {cheapest_for_part(members, part, window, breadth), 1};
    } else if (part != TableUnits::kNone && window.size > 1) {
      const auto named = std::find_if(members.begin(), members.end(),
                                      [&](const Replacement& m) { return m.table == part; });
      own = {named->ranks.front(), 1};
    }
    gained += place(member.choice, breadth, member.ranks, own);
    work_ += member.ranks.size();
  }
  return gained;
}

double EnergyPlacer::place_unit(std::span<Replacement> members, std::uint32_t tries,
                                std::uint32_t breadth) {
  const TableUnits& units = loads_->context().units();
  const bool one_rank = units.units()[units.unit_of(members[0].table)].one_rank;
  const ShardUse& first = loads_->context().shards(members[0].choice)[0];
  const std::uint32_t local = one_rank ? 1 : loads_->model().local_world_size();
  const std::uint32_t places = loads_->model().world_size() / local;
  const bool every = tries >= places;
  const std::size_t mark = loads_->num_tentative();
  best_of_unit_.resize(std::max(best_of_unit_.size(), members.size()));
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < std::min(tries, places); ++i) {
    const std::uint32_t place = every ? i : draw_rank(first, all_ranks()) / local;
    const double gained = place_unit_in(members, {place * local, local}, breadth);
    if (tries == 1) return gained;
    loads_->take_back(mark);
    if (gained >= least) continue;
    least = gained;
    for (std::size_t m = 0; m < members.size(); ++m)
      best_of_unit_[m] = members[m].ranks;
  }
  double gained = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    members[m].ranks = best_of_unit_[m];
    const std::span<const ShardUse> uses = loads_->context().shards(members[m].choice);
    for (std::size_t k = 0; k < uses.size(); ++k)
      gained += loads_->add(members[m].ranks[k], uses[k]);
  }
  return gained;
}

double EnergyPlacer::take_away(std::size_t table) {
  work_ += loads_->num_shards(table);
  return loads_->take_away(table);
}

}  // namespace shardwright::embedding
