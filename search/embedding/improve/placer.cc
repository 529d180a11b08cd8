#include "search/embedding/improve/placer.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {

Rank Placer::cheapest_rank(const ShardUse& use, Rank first, std::uint32_t size,
                           std::uint32_t breadth) {
  const std::uint32_t tries = std::min(breadth, size);
  std::uint32_t at = draws_->below(size);
  Rank best = first + at;
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
      at = draws_->below(size);
    }
  }
  work_ += tries;
  return best;
}

double Placer::place_on_host(std::span<const ShardUse> uses, Rank first, std::uint32_t breadth,
                             std::vector<Rank>& ranks) {
  double gained = 0;
  for (const ShardUse& use : uses) {
    const Rank rank = cheapest_rank(use, first, loads_->model().local_world_size(), breadth);
    gained += loads_->add(rank, use);
    ranks.push_back(rank);
  }
  return gained;
}

double Placer::place_one_host(std::span<const ShardUse> uses, std::uint32_t breadth,
                              std::vector<Rank>& ranks) {
  const std::uint32_t hosts = loads_->model().num_hosts();
  const std::uint32_t local = loads_->model().local_world_size();
  const std::uint32_t tries = std::min(breadth, hosts);
  const std::size_t mark = loads_->num_tentative();
  double least = std::numeric_limits<double>::infinity();
  std::uint32_t host = draws_->below(hosts);
  for (std::uint32_t i = 0; i < tries; ++i) {
    trial_.clear();
    const double gained = place_on_host(uses, host * local, breadth, trial_);
    loads_->take_back(mark);
    if (gained < least || i == 0) {
      least = gained;
      ranks = trial_;
    }
    host = tries == hosts ? (host + 1) % hosts : draws_->below(hosts);
  }
  double gained = 0;
  for (std::size_t i = 0; i < uses.size(); ++i)
    gained += loads_->add(ranks[i], uses[i]);
  work_ += 2 * uses.size();
  return gained;
}

double Placer::add_to_host(std::span<const ShardUse> uses, Rank first_rank) {
  double gained = 0;
  for (const ShardUse& use : uses)
    gained += loads_->add(first_rank++, use);
  work_ += uses.size();
  return gained;
}

double Placer::place_hosts(std::span<const ShardUse> uses, std::uint32_t breadth,
                           std::vector<Rank>& ranks) {
  const std::uint32_t hosts = loads_->model().num_hosts();
  const std::uint32_t local = loads_->model().local_world_size();
  const std::uint32_t tries = std::min(breadth, hosts);
  double total = 0;
  for (std::size_t done = 0; done < uses.size(); done += local) {
    const auto block = uses.subspan(done, local);
    std::uint32_t host = draws_->below(hosts);
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
      host = tries == hosts ? (host + 1) % hosts : draws_->below(hosts);
    }
    work_ += tries * local;
    total += add_to_host(block, best * local);
    for (std::uint32_t k = 0; k < local; ++k)
      ranks.push_back(best * local + k);
  }
  return total;
}

double Placer::place(std::uint32_t choice, std::uint32_t breadth, std::vector<Rank>& ranks) {
  const Choice& chosen = loads_->model().choices()[choice];
  ranks.clear();
  if (chosen.reach == Reach::kAllRanks) {
    work_ += chosen.num_shards;
    return loads_->add_everywhere(chosen);
  }
  const std::span<const ShardUse> uses = loads_->context().shards(choice);
  if (chosen.reach == Reach::kHost) return place_one_host(uses, breadth, ranks);
  if (chosen.reach == Reach::kWholeHosts) return place_hosts(uses, breadth, ranks);
  double gained = 0;
  for (const ShardUse& use : uses) {
    const Rank rank = cheapest_rank(use, 0, loads_->model().world_size(), breadth);
    gained += loads_->add(rank, use);
    ranks.push_back(rank);
  }
  return gained;
}

double Placer::take_away(std::size_t table) {
  const Choice& chosen = loads_->chosen(table);
  work_ += chosen.num_shards;
  if (chosen.reach == Reach::kAllRanks) return loads_->remove_everywhere(chosen);
  double gained = 0;
  const std::uint32_t first = loads_->context().first_slot(table);
  for (std::uint32_t i = 0; i < chosen.num_shards; ++i) {
    const Slot& slot = loads_->slot(first + i);
    gained += loads_->remove(slot.rank, slot.use);
  }
  return gained;
}

}  // namespace shardwright::embedding
