#include "search/embedding/questions/memory_shortage.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"

namespace shardwright::embedding {
namespace {

using Tier = MemoryShortage::Tier;

// Sums of bytes are capped here; no machine has so much memory.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
std::int64_t add_bytes(std::int64_t a, std::int64_t b) { return std::min(a + b, kMostBytes); }
constexpr Tier as_shortage(MemoryTier tier) { return static_cast<MemoryShortage::Tier>(tier); }
// Bytes in one tier; for kAll and kWeighted in all tiers.
std::int64_t bytes_in(Tier tier, const Storage& storage) {
  switch (tier) {
    case Tier::kHbm:
      return storage.hbm.value();
    case Tier::kDdr:
      return storage.ddr.value();
    case Tier::kSsd:
      return storage.ssd.value();
    case Tier::kAll:
    case Tier::kWeighted:
      break;
  }
  return add_bytes(add_bytes(storage.hbm.value(), storage.ddr.value()), storage.ssd.value());
}

struct OptionNeed {
  const ShardingOption* option = nullptr;
  Storage total;  // over all shards
};

struct TableNeeds {
  TableId table;
  std::vector<OptionNeed> options;
};

// Thread safety: const members may be called from any thread. Refers to its arguments.
class MemoryNeeds {
 public:
  // If the budget is interrupted meanwhile, tables() is empty.
  MemoryNeeds(const SearchSpace& space, const Topology& available, const Budget& budget);

  // Returns true if the budget was interrupted; asks only if kStopInterval divides `number`. A
  // proof that then skips tables understates the need, so it claims no false shortage.
  bool stopped(std::size_t number) const {
    return number % kStopInterval == 0 && budget_.interrupted().has_value();
  }

  const PlacementRules& rules() const { return rules_; }
  const Topology& available() const { return available_; }
  // Free memory by rank; 0 if the reservation exceeds the memory of the rank.
  const std::vector<Storage>& room() const { return room_; }

  std::vector<TableNeeds>& tables() { return tables_; }
  const std::vector<TableNeeds>& tables() const { return tables_; }

  // Returns a shortage if the tables need more than the ranks have, in one tier or in all tiers
  // together. The caller sets its kind.
  std::optional<MemoryShortage> exceeds(const std::vector<const TableNeeds*>& tables,
                                        const std::vector<Rank>& ranks) const;

 private:
  static constexpr std::size_t kStopInterval = 1024;

  void add_tables(const SearchSpace& space);

  const PlacementRules& rules_;
  const Topology& available_;
  const Budget& budget_;
  std::vector<TableNeeds> tables_;
  std::vector<Storage> room_;
};

std::int64_t least_bytes(const TableNeeds& table, Tier tier) {
  std::int64_t least = kMostBytes;
  for (const OptionNeed& need : table.options)
    least = std::min(least, bytes_in(tier, need.total));
  return least;
}

MemoryNeeds::MemoryNeeds(const SearchSpace& space, const Topology& available, const Budget& budget)
    : rules_(space.problem().rules()), available_(available), budget_(budget) {
  add_tables(space);
  for (Storage room : available.storage()) {
    if (room.is_negative()) room = Storage();
    room_.push_back(room);
  }
}

void MemoryNeeds::add_tables(const SearchSpace& space) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> position(space.problem().tables().size(), kNone);
  std::size_t options = 0;
  for (const ShardingOption& option : space.options()) {
    if (stopped(options++)) {
      tables_.clear();
      return;
    }
    std::size_t& at = position[option.table.index()];
    if (at == kNone) {
      at = tables_.size();
      tables_.push_back({option.table, {}});
    }
    tables_[at].options.push_back({&option, option.total_storage()});
  }
}

std::optional<MemoryShortage> MemoryNeeds::exceeds(const std::vector<const TableNeeds*>& tables,
                                                   const std::vector<Rank>& ranks) const {
  for (const Tier tier : {Tier::kAll, Tier::kHbm, Tier::kDdr, Tier::kSsd}) {
    std::int64_t needed = 0;
    std::int64_t room = 0;
    for (std::size_t i = 0; i < tables.size() && !stopped(i); ++i)
      needed = add_bytes(needed, least_bytes(*tables[i], tier));
    for (const Rank rank : ranks)
      room = add_bytes(room, bytes_in(tier, room_[rank]));
    if (needed <= room) continue;
    MemoryShortage shortage;
    shortage.tier = tier;
    for (const TableNeeds* const table : tables)
      shortage.tables.push_back(table->table);
    shortage.needed_bytes = needed;
    shortage.available_bytes = room;
    return shortage;
  }
  return std::nullopt;
}

// The rank that lacks the fewest bytes for a shard, and what the shard needs there.
struct ClosestRank {
  std::int64_t lack = std::numeric_limits<std::int64_t>::max();
  Tier tier = Tier::kHbm;
  std::int64_t needed = 0;
  Rank rank = 0;
};

void consider_rank(const Storage& shard, const Storage& room, Rank rank, ClosestRank& closest) {
  const MemoryTier tier = scarcest_tier(shard, room);
  const std::int64_t over = shard == Storage() ? 0 : (shard - room)[tier].value();
  const std::int64_t lack = std::max(over, std::int64_t{0});
  if (lack >= closest.lack) return;
  closest = {lack, as_shortage(tier), shard[tier].value(), rank};
}

ClosestRank closest_rank(const MemoryNeeds& needs, const ShardingOption& option,
                         std::uint32_t shard, const Storage& storage) {
  ClosestRank closest;
  const RankSet* const allowed = needs.rules().allowed(option.table, shard);
  if (needs.available().uniform() && allowed == nullptr) {
    consider_rank(storage, needs.room().front(), 0, closest);
    return closest;
  }
  for (Rank rank = 0; rank < needs.room().size(); ++rank) {
    if (allowed == nullptr || allowed->contains(rank))
      consider_rank(storage, needs.room()[rank], rank, closest);
  }
  return closest;
}

// For every shard, finds the rank that lacks the fewest bytes. Returns the largest of these lacks.
ClosestRank lack_of(const MemoryNeeds& needs, const ShardingOption& option) {
  ClosestRank worst;
  worst.lack = 0;
  std::uint32_t shard = 0;
  const std::vector<Storage>& room = needs.room();
  const bool in_order = option.partition_by() == PartitionBy::kUniform;
  const bool equal_shards =
      in_order ? needs.available().uniform() : !needs.rules().constrains(option.table);
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const std::uint32_t count = option.layout->extents[run].count;
    const Storage& storage = option.costs[run].storage;
    for (std::uint32_t k = 0; k < (equal_shards ? std::min(count, 1U) : count); ++k) {
      ClosestRank closest;
      if (in_order) {
        consider_rank(storage, room[std::min<std::size_t>(shard + k, room.size() - 1)], shard + k,
                      closest);
      } else {
        closest = closest_rank(needs, option, shard + k, storage);
      }
      if (closest.lack > worst.lack) worst = closest;
    }
    shard += count;
  }
  return worst;
}

std::optional<MemoryShortage> keep_fitting_options_of(const MemoryNeeds& needs, TableNeeds& table) {
  std::optional<MemoryShortage> shortage;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<OptionNeed> fitting;
  for (const OptionNeed& need : table.options) {
    const ClosestRank closest = lack_of(needs, *need.option);
    if (closest.lack == 0) fitting.push_back(need);
    if (closest.lack >= least) continue;
    least = closest.lack;
    shortage.emplace();
    shortage->kind = MemoryShortage::Kind::kTable;
    shortage->tier = closest.tier;
    shortage->tables = {table.table};
    shortage->needed_bytes = closest.needed;
    shortage->available_bytes = bytes_in(closest.tier, needs.available().storage()[closest.rank]);
    shortage->closest = need.option;
    shortage->rank = closest.rank;
  }
  table.options = std::move(fitting);
  return table.options.empty() ? shortage : std::nullopt;
}

// Drops options with a shard that fits no rank. Returns a shortage if a table then has no option.
std::optional<MemoryShortage> keep_fitting_options(MemoryNeeds& needs) {
  std::size_t tables = 0;
  for (TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) return std::nullopt;
    if (auto shortage = keep_fitting_options_of(needs, table)) return shortage;
  }
  return std::nullopt;
}

// If the group fits no rank or host, returns the shortage on the one that lacks the fewest bytes.
std::optional<MemoryShortage> shortage_of_group(const MemoryNeeds& needs,
                                                const PlacementRules::Group& group) {
  std::vector<const TableNeeds*> tables;
  std::size_t number = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(number++)) return std::nullopt;
    if (std::binary_search(group.tables.begin(), group.tables.end(), table.table))
      tables.push_back(&table);
  }
  std::vector<Rank> ranks(group.on == GroupScope::kRank ? 1 : needs.available().local_world_size());
  std::optional<MemoryShortage> closest;
  for (Rank first = 0; first < needs.room().size(); first += static_cast<Rank>(ranks.size())) {
    std::iota(ranks.begin(), ranks.end(), first);
    auto shortage = needs.exceeds(tables, ranks);
    if (!shortage) return std::nullopt;
    const auto lack = [](const MemoryShortage& s) { return s.needed_bytes - s.available_bytes; };
    if (closest && lack(*closest) <= lack(*shortage)) continue;
    closest = std::move(shortage);
    closest->rank = first;
  }
  closest->kind = MemoryShortage::Kind::kTogether;
  closest->place = group.place;
  return closest;
}

// The ranks to which rules restrict all shards of the table; null if there is no such rule.
const RankSet* ranks_of_table(const PlacementRules& rules, TableId table) {
  return rules.same_for_all_shards(table) ? rules.allowed(table, 0) : nullptr;
}

// For every set of ranks in a rule, looks for a shortage of the tables that may only be in this
// set.
std::optional<MemoryShortage> shortage_of_rank_sets(const MemoryNeeds& needs) {
  if (!needs.rules().any()) return std::nullopt;
  std::set<std::vector<Rank>> sets;
  std::size_t number = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(number++)) return std::nullopt;
    if (const RankSet* const set = ranks_of_table(needs.rules(), table.table))
      sets.emplace(set->ranks().begin(), set->ranks().end());
  }
  for (const std::vector<Rank>& ranks : sets) {
    std::vector<const TableNeeds*> inside;
    for (const TableNeeds& table : needs.tables()) {
      if (needs.stopped(number++)) return std::nullopt;
      const RankSet* const set = ranks_of_table(needs.rules(), table.table);
      if (set != nullptr &&
          std::includes(ranks.begin(), ranks.end(), set->ranks().begin(), set->ranks().end())) {
        inside.push_back(&table);
      }
    }
    if (auto shortage = needs.exceeds(inside, ranks)) {
      shortage->kind = MemoryShortage::Kind::kTogether;
      shortage->rank = ranks.front();
      return shortage;
    }
  }
  return std::nullopt;
}

// Looks for a shortage of tables that a rule keeps together or restricts to the same few ranks.
std::optional<MemoryShortage> shortage_of_groups(const MemoryNeeds& needs) {
  for (const PlacementRules::Group& group : needs.rules().groups()) {
    if (!group.together) continue;
    if (auto shortage = shortage_of_group(needs, group)) return shortage;
  }
  return shortage_of_rank_sets(needs);
}

// A sum of doubles counts as larger if it exceeds the other by this fraction.
constexpr double kRounding = 1e-9;
// Steps of a ternary search. Each step leaves two thirds of the interval of weights.
constexpr int kWeightSteps = 40;
// With three tiers, each weight is set this many times in turn.
constexpr int kTurns = 3;

// Weights of a byte in each tier; they sum to 1.
PerTier<double> weights_of(double hbm, double ssd) {
  return {hbm * (1 - ssd), (1 - hbm) * (1 - ssd), ssd};
}

// Weighted bytes that all tables need at least, and that all ranks have.
struct WeightedBytes {
  double needed = 0;
  double room = 0;

  double lack() const { return needed - room; }
};

WeightedBytes weighted_bytes(const MemoryNeeds& needs, const PerTier<double>& weights) {
  WeightedBytes sum;
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) break;
    double least = static_cast<double>(kMostBytes);
    for (const OptionNeed& need : table.options)
      least = std::min(least, add_priced(0, weights, as_doubles(need.total)));
    sum.needed += least;
  }
  PerTier<double> all;
  for (const Storage& room : needs.room()) {
    for (const MemoryTier tier : kMemoryTiers)
      all[tier] += static_cast<double>(room[tier].value());
  }
  sum.room = add_priced(0, weights, all);
  return sum;
}

// Returns the weight in [0, 1] that maximises a concave function.
template <class Function>
double best_weight(const Function& function) {
  double low = 0;
  double high = 1;
  for (int step = 0; step < kWeightSteps; ++step) {
    const double third = (high - low) / 3;
    if (function(low + third) < function(high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  return (low + high) / 2;
}

// Returns weights at which the most weighted bytes are lacking. This Lagrangian dual function is
// concave in each weight, but setting the weights in turn may miss its maximum.
PerTier<double> best_weights(const MemoryNeeds& needs) {
  const auto lack = [&](double hbm, double ssd) {
    return weighted_bytes(needs, weights_of(hbm, ssd)).lack();
  };
  double ssd = 0;
  double hbm = best_weight([&](double own) { return lack(own, ssd); });
  for (int turn = 0; turn < kTurns && needs.available().has_ssd(); ++turn) {
    ssd = best_weight([&](double own) { return lack(hbm, own); });
    hbm = best_weight([&](double own) { return lack(own, ssd); });
  }
  return weights_of(hbm, ssd);
}

std::optional<MemoryShortage> weighted_shortage(const MemoryNeeds& needs) {
  const WeightedBytes sum = weighted_bytes(needs, best_weights(needs));
  if (sum.lack() <= kRounding * (sum.needed + sum.room)) return std::nullopt;
  MemoryShortage shortage;
  shortage.tier = Tier::kWeighted;
  for (const TableNeeds& table : needs.tables())
    shortage.tables.push_back(table.table);
  shortage.needed_bytes = static_cast<std::int64_t>(sum.needed);
  shortage.available_bytes = static_cast<std::int64_t>(sum.room);
  return shortage;
}

std::optional<MemoryShortage> shortage_in_total(const MemoryNeeds& needs) {
  std::vector<const TableNeeds*> tables;
  for (const TableNeeds& table : needs.tables())
    tables.push_back(&table);
  std::vector<Rank> ranks(needs.available().world_size());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  auto shortage = needs.exceeds(tables, ranks);
  if (!shortage) shortage = weighted_shortage(needs);
  if (shortage) shortage->kind = MemoryShortage::Kind::kTotal;
  return shortage;
}

// Proofs by a dual feasible function of bin packing. A shard counts as a whole rank if no shard of
// threshold size fits beside it, as nothing if it is below the threshold, and otherwise as its
// size.
// Source: Fekete, Schepers 2001, U^eps.

// Each threshold costs a pass over all options.
constexpr std::size_t kMostThresholds = 32;

// Returns the thresholds to try: for every shard of more than half a rank, the least size that does
// not fit beside this shard.
std::vector<std::int64_t> thresholds(const MemoryNeeds& needs, Tier tier, std::int64_t room) {
  std::set<std::int64_t> sizes{room - room / 2};
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) return {};
    for (const OptionNeed& need : table.options) {
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

// For one threshold, the bytes that a shard or an option counts as.
struct Blocking {
  Tier tier;
  std::int64_t room;
  std::int64_t threshold;

  std::int64_t of_shard(std::int64_t size) const {
    if (size > room - threshold) return room;
    return size < threshold ? 0 : size;
  }
  std::int64_t of_option(const ShardingOption& option) const {
    std::int64_t sum = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const std::int64_t count = option.layout->extents[run].count;
      const std::int64_t each = of_shard(bytes_in(tier, option.costs[run].storage));
      const bool overflows = each > kMostBytes / std::max<std::int64_t>(count, 1);
      sum = add_bytes(sum, overflows ? kMostBytes : count * each);
    }
    return sum;
  }
};

std::optional<MemoryShortage> blocked_shortage(const MemoryNeeds& needs, const Blocking& blocking) {
  MemoryShortage shortage;
  shortage.kind = MemoryShortage::Kind::kShards;
  shortage.tier = blocking.tier;
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) return std::nullopt;
    std::int64_t least = kMostBytes;
    for (const OptionNeed& need : table.options)
      least = std::min(least, blocking.of_option(*need.option));
    if (least > 0) shortage.tables.push_back(table.table);
    shortage.needed_bytes = add_bytes(shortage.needed_bytes, least);
  }
  for (const Storage& room : needs.room()) {
    // Every rank counts as large as the largest rank.
    if (bytes_in(blocking.tier, room) > 0)
      shortage.available_bytes = add_bytes(shortage.available_bytes, blocking.room);
  }
  if (shortage.needed_bytes <= shortage.available_bytes) return std::nullopt;
  return shortage;
}

std::optional<MemoryShortage> shortage_by_large_shards(const MemoryNeeds& needs) {
  for (const Tier tier : {Tier::kHbm, Tier::kDdr, Tier::kSsd}) {
    std::int64_t room = 0;
    for (const Storage& storage : needs.room())
      room = std::max(room, bytes_in(tier, storage));
    if (room == 0) continue;
    for (const std::int64_t threshold : thresholds(needs, tier, room)) {
      if (auto shortage = blocked_shortage(needs, {tier, room, threshold})) return shortage;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryShortage> prove_memory_shortage(const SearchSpace& space,
                                                    const Topology& available,
                                                    const Budget& budget) {
  if (space.size() == 0) return std::nullopt;
  MemoryNeeds needs(space, available, budget);
  if (auto shortage = keep_fitting_options(needs)) return shortage;
  if (auto shortage = shortage_of_groups(needs)) return shortage;
  if (auto shortage = shortage_in_total(needs)) return shortage;
  return shortage_by_large_shards(needs);
}

}  // namespace shardwright::embedding
