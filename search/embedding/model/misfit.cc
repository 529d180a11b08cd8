#include "search/embedding/model/misfit.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace shardwright::embedding {
namespace {

using Tier = Misfit::Tier;

// Sums stop here; no machine has as much.
constexpr std::int64_t kMost = std::int64_t{1} << 61;
// By how much a sum of doubles must exceed another to count as larger.
constexpr double kRounding = 1e-9;
constexpr int kPriceSteps = 40;
constexpr std::size_t kMostThresholds = 32;

std::int64_t plus(std::int64_t a, std::int64_t b) { return std::min(a + b, kMost); }

std::int64_t bytes_in(Tier tier, const Storage& storage) {
  switch (tier) {
    case Tier::kHbm:
      return storage.hbm.value();
    case Tier::kDdr:
      return storage.ddr.value();
    case Tier::kBoth:
    case Tier::kWeighted:
      break;
  }
  return plus(storage.hbm.value(), storage.ddr.value());
}

// What an option takes in all.
struct Need {
  const ShardingOption* option = nullptr;
  Storage total;
};

struct TableNeeds {
  TableId table;
  std::vector<Need> needs;  // of the options that an empty machine has room for
};

class Prover {
 public:
  Prover(const SearchSpace& space, const Topology& available)
      : rules_(space.problem().rules()), available_(available) {
    std::map<TableId, std::size_t> position;
    for (const ShardingOption& option : space.options()) {
      const auto [at, added] = position.try_emplace(option.table, tables_.size());
      if (added) tables_.push_back({option.table, {}});
      tables_[at->second].needs.push_back({&option, option.total_storage()});
    }
    for (Storage room : available.storage()) {
      // Such a rank must stay empty.
      if (room.hbm < Bytes(0) || room.ddr < Bytes(0)) room = Storage();
      room_.push_back(room);
    }
  }

  std::optional<Misfit> run() {
    for (TableNeeds& table : tables_) {
      if (auto misfit = table_fits_nowhere(table)) return misfit;
    }
    if (auto misfit = together()) return misfit;
    if (auto misfit = total()) return misfit;
    return shards();
  }

 private:
  // The rank that lacks least for a shard, and what the shard needs there.
  struct Closest {
    std::int64_t lack = std::numeric_limits<std::int64_t>::max();
    Tier tier = Tier::kHbm;
    std::int64_t needed = 0;
    Rank rank = 0;
  };

  static void note_lack(const Storage& shard, const Storage& room, Rank rank, Closest& closest) {
    const std::int64_t hbm = (shard.hbm - room.hbm).value();
    const std::int64_t ddr = (shard.ddr - room.ddr).value();
    const std::int64_t lack = shard == Storage() ? 0 : std::max({hbm, ddr, std::int64_t{0}});
    if (lack >= closest.lack) return;
    const Tier tier = hbm >= ddr ? Tier::kHbm : Tier::kDdr;
    closest = {lack, tier, bytes_in(tier, shard), rank};
  }

  bool may_be(const ShardingOption& option, std::uint32_t shard, Rank rank) const {
    const RankSet* const set = rules_.allowed(option.table, shard);
    return set == nullptr || set->contains(rank);
  }

  Closest closest_rank(const ShardingOption& option, std::uint32_t shard,
                       const Storage& storage) const {
    Closest closest;
    if (available_.uniform() && rules_.allowed(option.table, shard) == nullptr) {
      note_lack(storage, room_.front(), 0, closest);
      return closest;
    }
    for (Rank rank = 0; rank < room_.size(); ++rank) {
      if (may_be(option, shard, rank)) note_lack(storage, room_[rank], rank, closest);
    }
    return closest;
  }

  // Of the shard that lacks most on the rank where it lacks least.
  Closest lack_of(const ShardingOption& option) const {
    Closest worst;
    worst.lack = 0;
    std::uint32_t shard = 0;
    const bool in_order = option.partition_by() == PartitionBy::kUniform;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const std::uint32_t count = option.layout->extents[run].count;
      const bool alike = in_order ? available_.uniform() : !rules_.constrains(option.table);
      for (std::uint32_t k = 0; k < (alike ? std::min(count, 1U) : count); ++k) {
        Closest closest;
        if (in_order) {
          note_lack(option.costs[run].storage,
                    room_[std::min<std::size_t>(shard + k, room_.size() - 1)], shard + k, closest);
        } else {
          closest = closest_rank(option, shard + k, option.costs[run].storage);
        }
        if (closest.lack > worst.lack) worst = closest;
      }
      shard += count;
    }
    return worst;
  }

  // Keeps the options that fit.
  std::optional<Misfit> table_fits_nowhere(TableNeeds& table) {
    std::optional<Misfit> misfit;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::vector<Need> fitting;
    for (const Need& need : table.needs) {
      const Closest closest = lack_of(*need.option);
      if (closest.lack == 0) fitting.push_back(need);
      if (closest.lack >= least) continue;
      least = closest.lack;
      misfit.emplace();
      misfit->kind = Misfit::Kind::kTable;
      misfit->tier = closest.tier;
      misfit->tables = {table.table};
      misfit->needed_bytes = closest.needed;
      misfit->available_bytes = bytes_in(closest.tier, available_.storage()[closest.rank]);
      misfit->closest = need.option;
      misfit->rank = closest.rank;
    }
    table.needs = std::move(fitting);
    return table.needs.empty() ? misfit : std::nullopt;
  }

  static std::int64_t least_of(const TableNeeds& table, Tier tier) {
    std::int64_t least = kMost;
    for (const Need& need : table.needs)
      least = std::min(least, bytes_in(tier, need.total));
    return least;
  }

  // Whether the tables need more than `room` in a tier, or in both together.
  std::optional<Misfit> exceeds(const std::vector<const TableNeeds*>& tables,
                                const std::vector<Rank>& ranks) const {
    for (const Tier tier : {Tier::kBoth, Tier::kHbm, Tier::kDdr}) {
      std::int64_t needed = 0;
      std::int64_t room = 0;
      for (const TableNeeds* const table : tables)
        needed = plus(needed, least_of(*table, tier));
      for (const Rank rank : ranks)
        room = plus(room, bytes_in(tier, room_[rank]));
      if (needed <= room) continue;
      Misfit misfit;
      misfit.tier = tier;
      for (const TableNeeds* const table : tables)
        misfit.tables.push_back(table->table);
      misfit.needed_bytes = needed;
      misfit.available_bytes = room;
      return misfit;
    }
    return std::nullopt;
  }

  std::vector<Rank> ranks_from(Rank first, std::uint32_t count) const {
    std::vector<Rank> ranks(count);
    for (std::uint32_t i = 0; i < count; ++i)
      ranks[i] = first + i;
    return ranks;
  }

  std::optional<Misfit> together() const {
    for (const PlacementRules::Group& group : rules_.groups()) {
      if (!group.together) continue;
      if (auto misfit = group_fits_nowhere(group)) return misfit;
    }
    return sets_of_ranks();
  }

  // On every rank or host the group lacks memory; the one where it lacks least is named.
  std::optional<Misfit> group_fits_nowhere(const PlacementRules::Group& group) const {
    std::vector<const TableNeeds*> tables;
    for (const TableNeeds& table : tables_) {
      if (std::binary_search(group.tables.begin(), group.tables.end(), table.table))
        tables.push_back(&table);
    }
    const std::uint32_t size = group.on == GroupScope::kRank ? 1 : available_.local_world_size();
    std::optional<Misfit> closest;
    for (Rank first = 0; first < room_.size(); first += size) {
      auto misfit = exceeds(tables, ranks_from(first, size));
      if (!misfit) return std::nullopt;
      const auto lack = [](const Misfit& m) { return m.needed_bytes - m.available_bytes; };
      if (closest && lack(*closest) <= lack(*misfit)) continue;
      closest = std::move(misfit);
      closest->rank = first;
    }
    closest->kind = Misfit::Kind::kTogether;
    closest->place = group.place;
    return closest;
  }

  // Tables that are bound to the same ranks, or to some of these.
  std::optional<Misfit> sets_of_ranks() const {
    if (!rules_.any()) return std::nullopt;
    const auto set_of = [&](const TableNeeds& table) -> const RankSet* {
      return rules_.same_for_all_shards(table.table) ? rules_.allowed(table.table, 0) : nullptr;
    };
    std::set<std::vector<Rank>> sets;
    for (const TableNeeds& table : tables_) {
      if (const RankSet* const set = set_of(table))
        sets.emplace(set->ranks().begin(), set->ranks().end());
    }
    for (const std::vector<Rank>& ranks : sets) {
      std::vector<const TableNeeds*> inside;
      for (const TableNeeds& table : tables_) {
        const RankSet* const set = set_of(table);
        if (set != nullptr &&
            std::includes(ranks.begin(), ranks.end(), set->ranks().begin(), set->ranks().end())) {
          inside.push_back(&table);
        }
      }
      if (auto misfit = exceeds(inside, ranks)) {
        misfit->kind = Misfit::Kind::kTogether;
        misfit->rank = ranks.front();
        return misfit;
      }
    }
    return std::nullopt;
  }

  std::optional<Misfit> total() const {
    std::vector<const TableNeeds*> all;
    for (const TableNeeds& table : tables_)
      all.push_back(&table);
    auto misfit = exceeds(all, ranks_from(0, available_.world_size()));
    if (!misfit) misfit = priced(all);
    if (misfit) misfit->kind = Misfit::Kind::kTotal;
    return misfit;
  }

  // Bytes of HBM and DDR weighted against each other: the lack is concave in the weight. Source:
  // Lagrangian relaxation of the memory of both tiers.
  std::optional<Misfit> priced(const std::vector<const TableNeeds*>& all) const {
    double hbm_room = 0, ddr_room = 0;
    for (const Storage& room : room_) {
      hbm_room += static_cast<double>(room.hbm.value());
      ddr_room += static_cast<double>(room.ddr.value());
    }
    double needed = 0, room = 0;
    const auto lack = [&](double hbm) {
      needed = 0;
      for (const TableNeeds* const table : all) {
        double least = static_cast<double>(kMost);
        for (const Need& need : table->needs) {
          least = std::min(least, hbm * static_cast<double>(need.total.hbm.value()) +
                                      (1 - hbm) * static_cast<double>(need.total.ddr.value()));
        }
        needed += least;
      }
      room = hbm * hbm_room + (1 - hbm) * ddr_room;
      return needed - room;
    };
    double low = 0, high = 1;
    for (int step = 0; step < kPriceSteps; ++step) {
      const double third = (high - low) / 3;
      if (lack(low + third) < lack(high - third)) {
        low += third;
      } else {
        high -= third;
      }
    }
    if (lack((low + high) / 2) <= kRounding * (needed + room)) return std::nullopt;
    Misfit misfit;
    misfit.tier = Tier::kWeighted;
    for (const TableNeeds* const table : all)
      misfit.tables.push_back(table->table);
    misfit.needed_bytes = static_cast<std::int64_t>(needed);
    misfit.available_bytes = static_cast<std::int64_t>(room);
    return misfit;
  }

  // Shards of more than a part of a rank count as that rank's whole room less what may still join
  // them. Source: dual feasible functions of bin packing (Fekete, Schepers 2001), U^eps.
  std::optional<Misfit> shards() const {
    for (const Tier tier : {Tier::kHbm, Tier::kDdr}) {
      std::int64_t room = 0;
      for (const Storage& storage : room_)
        room = std::max(room, bytes_in(tier, storage));
      if (room == 0) continue;
      for (const std::int64_t threshold : thresholds(tier, room)) {
        if (auto misfit = exceeds_blocked(tier, room, threshold)) return misfit;
      }
    }
    return std::nullopt;
  }

  // What just may not join one of the largest shards.
  std::vector<std::int64_t> thresholds(Tier tier, std::int64_t room) const {
    std::set<std::int64_t> sizes{room - room / 2};
    for (const TableNeeds& table : tables_) {
      for (const Need& need : table.needs) {
        for (const ShardCost& cost : need.option->costs) {
          const std::int64_t size = bytes_in(tier, cost.storage);
          if (size > room / 2) sizes.insert(room - size + 1);
        }
      }
    }
    std::vector<std::int64_t> chosen;
    const std::size_t step = (sizes.size() + kMostThresholds - 1) / kMostThresholds;
    std::size_t i = 0;
    for (const std::int64_t size : sizes) {
      if (i++ % step == 0) chosen.push_back(size);
    }
    return chosen;
  }

  std::optional<Misfit> exceeds_blocked(Tier tier, std::int64_t room,
                                        std::int64_t threshold) const {
    const auto blocked = [&](std::int64_t size) {
      if (size > room - threshold) return room;
      return size < threshold ? std::int64_t{0} : size;
    };
    Misfit misfit;
    misfit.kind = Misfit::Kind::kShards;
    misfit.tier = tier;
    for (const TableNeeds& table : tables_) {
      std::int64_t least = kMost;
      for (const Need& need : table.needs) {
        std::int64_t sum = 0;
        for (std::size_t run = 0; run < need.option->costs.size(); ++run) {
          const std::int64_t count = need.option->layout->extents[run].count;
          const std::int64_t each = blocked(bytes_in(tier, need.option->costs[run].storage));
          sum = plus(sum, each > kMost / std::max<std::int64_t>(count, 1) ? kMost : count * each);
        }
        least = std::min(least, sum);
      }
      if (least > 0) misfit.tables.push_back(table.table);
      misfit.needed_bytes = plus(misfit.needed_bytes, least);
    }
    for (const Storage& storage : room_) {
      // A smaller rank counts as one of the largest.
      if (bytes_in(tier, storage) > 0) misfit.available_bytes = plus(misfit.available_bytes, room);
    }
    if (misfit.needed_bytes <= misfit.available_bytes) return std::nullopt;
    return misfit;
  }

  const PlacementRules& rules_;
  const Topology& available_;
  std::vector<TableNeeds> tables_;
  std::vector<Storage> room_;
};

}  // namespace

std::optional<Misfit> prove_misfit(const SearchSpace& space, const Topology& available) {
  if (space.size() == 0) return std::nullopt;
  return Prover(space, available).run();
}

}  // namespace shardwright::embedding
