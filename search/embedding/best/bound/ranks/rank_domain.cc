#include "search/embedding/best/bound/ranks/rank_domain.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

void hold(const RankModel& model, const RankChoice& choice, std::uint32_t rank, RankPlaces& own) {
  if (choice.reach == Reach::kAllRanks) return;
  const ClassSet bit = ClassSet{1} << rank;
  own.held |= bit;
  const bool fills = choice.reach == Reach::kWholeHosts;
  if (fills ? choice.num_parts == 1 : choice.reach == Reach::kHost)
    own.may &= model.whole_hosts(bit);
  const auto held = static_cast<std::uint32_t>(std::popcount(own.held));
  if (!fills && held == choice.num_parts) own.may &= own.held;
  if ((own.held & ~own.may) != 0 || (!fills && held > choice.num_parts)) own = {};
}

void avoid(const RankModel& model, const RankChoice& choice, ClassSet ranks, RankPlaces& own) {
  const bool fills = choice.reach == Reach::kWholeHosts;
  own.may &= ~(fills ? model.whole_hosts(ranks) : ranks);
  if (choice.reach == Reach::kAllRanks || (own.held & ~own.may) != 0) own = {};
}

// The ranks that have a shard of the choice for certain.
ClassSet certain_ranks(const RankModel& model, const RankChoice& choice, const RankPlaces& own) {
  if (choice.reach == Reach::kAllRanks) return model.everywhere();
  if (choice.reach != Reach::kWholeHosts) return std::popcount(own.may) == 1 ? own.may : own.held;
  const std::span<const ClassSet> hosts = model.hosts();
  const bool has_one = std::find(hosts.begin(), hosts.end(), own.may) != hosts.end();
  return has_one ? own.may : model.whole_hosts(own.held);
}

// What every plan of a node has on the ranks.
// Thread safety: one thread at a time. Refers to its arguments.
class CommonUse {
 public:
  CommonUse(const RankModel& model, double target)
      : model_(model),
        target_(target),
        held_(model.num_tables()),
        least_(model.num_tables()),
        sum_(model.num_ranks()) {}

  // Returns false if a table has no choice.
  bool count(const RankDomain& domain) {
    std::fill(sum_.begin(), sum_.end(), RankShards());
    for (std::size_t table = 0; table < model_.num_tables(); ++table) {
      if (!count_table(table, domain)) return false;
      for (std::size_t rank = 0; rank < sum_.size() && held_[table] != 0; ++rank) {
        if (has_rank(held_[table], rank)) add(least_[table], 1, sum_[rank]);
      }
    }
    return true;
  }

  // The ranks of `ranks` that have room for the shards beside all other tables.
  ClassSet with_room(std::size_t table, const RankShards& shards, ClassSet ranks) const {
    ClassSet left = 0;
    for (std::size_t rank = 0; rank < sum_.size(); ++rank) {
      if (has_rank(ranks & shards.ranks, rank) && fits(table, shards, rank))
        left |= ClassSet{1} << rank;
    }
    return left;
  }

 private:
  static void add(const RankShards& shards, double times, RankShards& sum) {
    sum.load += times * shards.load;
    for (const MemoryTier tier : kMemoryTiers)
      sum.bytes[tier] += times * shards.bytes[tier];
  }

  bool count_table(std::size_t table, const RankDomain& domain) {
    held_[table] = model_.everywhere();
    RankShards& least = least_[table];
    least.count = 0;
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      if (domain[c].may == 0) continue;
      const RankChoice& choice = model_.choices()[c];
      held_[table] &= certain_ranks(model_, choice, domain[c]);
      keep_least(choice.least, least);
    }
    return least.count > 0;
  }

  // The check of a certificate rounds, too: what is only just too much stays.
  bool fits(std::size_t table, const RankShards& shards, std::size_t rank) const {
    RankShards all = sum_[rank];
    if (has_rank(held_[table], rank)) add(least_[table], -1, all);
    add(shards, 1, all);
    constexpr double kRounding = 1e-9;
    if (all.load > model_.load_limit(rank, target_) * (1 + kRounding)) return false;
    const std::span<const MemoryTier> tiers = model_.tiers();
    return std::all_of(tiers.begin(), tiers.end(), [&](MemoryTier tier) {
      return all.bytes[tier] <= model_.rank(rank).room[tier] * (1 + kRounding);
    });
  }

  const RankModel& model_;
  double target_;
  std::vector<ClassSet> held_;     // by table: the ranks that have a shard whatever its choice
  std::vector<RankShards> least_;  // by table
  std::vector<RankShards> sum_;    // by rank
};

// The places that are left of a choice.
RankPlaces without_misfits(const RankModel& model, const CommonUse& common,
                           const RankChoice& choice, const RankPlaces& own) {
  RankPlaces left{0, own.held};
  for (const RankShards& shards : model.shards(choice))
    left.may |= common.with_room(choice.table, shards, own.may);
  if (choice.reach == Reach::kAllRanks && left.may != own.may) return {};
  if (choice.reach == Reach::kWholeHosts) {
    for (const ClassSet host : model.hosts()) {
      if ((host & ~left.may) != 0) left.may &= ~host;
    }
  }
  return (left.held & ~left.may) == 0 ? left : RankPlaces();
}

}  // namespace

RankDomain whole_domain(const RankModel& model) {
  RankDomain domain;
  for (const RankChoice& choice : model.choices()) {
    RankPlaces& own = domain.emplace_back();
    for (const RankShards& shards : model.shards(choice))
      own.may |= shards.ranks;
    if (choice.reach == Reach::kAllRanks && own.may != model.everywhere()) own = {};
    for (const RankShards& extra : model.extras(choice)) {
      if (extra.ranks == 0) own = {};
    }
  }
  return domain;
}

void restrict_to_child(const RankModel& model, const RankDivision& division, bool is_first,
                       RankDomain& domain) {
  for (std::uint32_t c = model.first_choice(division.table); c < model.end_choice(division.table);
       ++c) {
    RankPlaces& own = domain[c];
    if (own.may == 0) continue;
    const RankChoice& choice = model.choices()[c];
    if (!division.first_child.empty()) {
      const auto& first = division.first_child;
      if ((std::find(first.begin(), first.end(), c) != first.end()) != is_first) own = {};
    } else if (!is_first) {
      avoid(model, choice, division.orbit, own);
    } else if (!has_rank(own.may, division.rank)) {
      own = {};
    } else {
      hold(model, choice, division.rank, own);
    }
  }
}

bool remove_misfits(const RankModel& model, double target, RankDomain& domain, Budget& budget) {
  // The check of a certificate takes as many rounds.
  constexpr int kMostRounds = 16;
  CommonUse common(model, target);
  for (int round = 0; round < kMostRounds; ++round) {
    budget.spend(domain.size());
    if (!common.count(domain)) return false;
    bool any = false;
    for (std::size_t c = 0; c < domain.size(); ++c) {
      if (domain[c].may == 0) continue;
      const RankPlaces left = without_misfits(model, common, model.choices()[c], domain[c]);
      any |= left.may != domain[c].may;
      domain[c] = left;
    }
    if (!any) return true;
  }
  return common.count(domain);
}

std::vector<ClassSet> rank_orbits(const RankModel& model, const std::vector<ClassSet>& named) {
  const std::uint32_t ranks = model.num_ranks();
  std::vector<ClassSet> equal(ranks, 0);
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      const bool is_equal = model.model().room()[a] == model.model().room()[b] &&
                            model.rank(a).time_scale == model.rank(b).time_scale &&
                            std::all_of(named.begin(), named.end(), [&](ClassSet own) {
                              return has_rank(own, a) == has_rank(own, b);
                            });
      if (is_equal) equal[a] |= ClassSet{1} << b;
    }
  }
  // Every rank of one host has its like on the other one, as often.
  const auto are_hosts_equal = [&](ClassSet a, ClassSet b) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (has_rank(a, rank) && std::popcount(equal[rank] & a) != std::popcount(equal[rank] & b))
        return false;
    }
    return std::popcount(a) == std::popcount(b);
  };
  std::vector<ClassSet> orbits(ranks, 0);
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (const ClassSet host : model.hosts()) {
      if (has_rank(host, a) || are_hosts_equal(model.rank(a).host, host))
        orbits[a] |= equal[a] & host;
    }
  }
  return orbits;
}

}  // namespace shardwright::embedding
