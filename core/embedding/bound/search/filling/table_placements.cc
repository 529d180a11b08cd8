#include "core/embedding/bound/search/filling/table_placements.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

constexpr std::uint32_t kMostRanks = 64;
constexpr std::size_t kMostOfTable = 512;
constexpr std::size_t kMost = std::size_t{1} << 13;

}  // namespace

// Thread safety: one thread at a time. Refers to its arguments.
class TablePlacements::Maker {
 public:
  Maker(const std::vector<RankTraits>& ranks, std::uint32_t ranks_per_host,
        const RankPriceSet& prices, double target, TablePlacements& made)
      : ranks_(ranks),
        num_ranks_(static_cast<Rank>(ranks.size())),
        ranks_per_host_(ranks_per_host),
        prices_(prices),
        target_(target),
        made_(made),
        taken_(ranks.size()) {}

  // Returns false if there are too many.
  bool add_table(const ChoicesOfTable& table) {
    const std::uint32_t begin = made_.first_.back();
    for (const TableChoice& choice : table.choices) {
      if (!add_choice(choice)) return false;
    }
    std::sort(made_.placements_.begin() + begin, made_.placements_.end(),
              [](const PlacedShards& a, const PlacedShards& b) {
                return a.cost != b.cost ? a.cost < b.cost : a.first_part < b.first_part;
              });
    made_.first_.push_back(static_cast<std::uint32_t>(made_.placements_.size()));
    return true;
  }

 private:
  struct Taken {
    std::uint32_t shards = 0;
    double load = 0;
    PerTier<double> bytes = {};
  };

  bool add_choice(const TableChoice& choice) {
    choice_ = &choice;
    // The groups behind these are what larger shards take beyond the least one.
    num_groups_ = choice.form == Form::kInOrder ? num_ranks_ : choice.shards.size();
    const Rank reach = choice.form == Form::kOneHost ? ranks_per_host_ : num_ranks_;
    for (Rank first = 0; first + reach <= num_ranks_; first += reach) {
      first_ = first;
      end_ = first + reach;
      if (!place(0, 0, first)) return false;
    }
    return true;
  }

  // Places what is left from the `done`-th shard, or block, of the group on.
  bool place(std::size_t group, std::uint32_t done, Rank least) {
    if (group >= num_groups_) return place_extras(group, 0, 0, 0);
    const EqualShards& shards = choice_->shards[group];
    const std::uint32_t width = choice_->width(ranks_per_host_);
    if (done == shards.count) return place(group + width, 0, first_);
    const auto [begin, end] = shards.places(std::max(least, first_), end_);
    for (std::size_t at = begin; at < end; ++at) {
      const Rank rank = shards.ranks[at];
      if (!has_all(group, width, rank)) continue;
      for (std::uint32_t i = 0; i < width; ++i) {
        take(rank + i, choice_->shards[group + i], 1);
        order_.push_back(rank + i);
      }
      const bool is_done = place(group, done + 1, rank);
      for (std::uint32_t i = 0; i < width; ++i)
        take(rank + i, choice_->shards[group + i], -1);
      order_.resize(order_.size() - width);
      if (!is_done) return false;
    }
    return true;
  }

  // The same for what larger shards take. `held`: the ranks that have some of it, as bits.
  bool place_extras(std::size_t group, std::uint32_t done, Rank least, std::uint64_t held) {
    if (group >= choice_->shards.size()) return add();
    const EqualShards& shards = choice_->shards[group];
    if (is_negligible(shards)) {
      made_.is_exact_ = false;
      return place_extras(group + 1, 0, 0, held);
    }
    if (done == shards.count) return place_extras(group + 1, 0, 0, held);
    const auto [begin, end] = shards.places(least, num_ranks_);
    for (std::size_t at = begin; at < end; ++at) {
      const Rank rank = shards.ranks[at];
      if ((held >> rank & 1) != 0) continue;
      take(rank, shards, 1);
      const bool is_done = place_extras(group, done + 1, rank + 1, held | std::uint64_t{1} << rank);
      take(rank, shards, -1);
      if (!is_done) return false;
    }
    return true;
  }

  // Most options have one shard that is a row shorter.
  bool is_negligible(const EqualShards& extra) const {
    constexpr double kNegligible = 1e-3;
    return extra.load <= kNegligible * target_ &&
           std::all_of(std::begin(kMemoryTiers), std::end(kMemoryTiers), [&](MemoryTier tier) {
             return extra.bytes[tier] <= kNegligible * ranks_[extra.ranks.front()].bytes[tier];
           });
  }

  // Returns true if all shards of a block may be on the host.
  bool has_all(std::size_t group, std::uint32_t width, Rank rank) const {
    for (std::uint32_t i = 1; i < width; ++i) {
      const EqualShards& shards = choice_->shards[group + i];
      if (shards.place_on(rank + i) == shards.ranks.size()) return false;
    }
    return true;
  }

  void take(Rank rank, const EqualShards& shards, int times) {
    Taken& own = taken_[rank];
    own.shards += static_cast<std::uint32_t>(times);
    own.load += times * shards.load;
    for (const MemoryTier tier : kMemoryTiers)
      own.bytes[tier] += times * shards.bytes[tier];
    if (own.shards == 0) own = {};
  }

  bool add() {
    PlacedShards own;
    own.choice = choice_;
    own.first_part = static_cast<std::uint32_t>(made_.parts_.size());
    own.first_shard = static_cast<std::uint32_t>(made_.ranks_.size());
    made_.ranks_.insert(made_.ranks_.end(), order_.begin(), order_.end());
    for (Rank rank = 0; rank < num_ranks_; ++rank) {
      const Taken& taken = taken_[rank];
      if (taken.shards == 0) continue;
      double price = prices_[rank].load * taken.load;
      for (const MemoryTier tier : kMemoryTiers)
        price += prices_[rank][tier] * taken.bytes[tier];
      made_.parts_.push_back({rank, taken.load * ranks_[rank].scale, taken.bytes, price});
      own.ranks |= std::uint64_t{1} << rank;
      own.cost += price;
    }
    own.end_part = static_cast<std::uint32_t>(made_.parts_.size());
    own.end_shard = static_cast<std::uint32_t>(made_.ranks_.size());
    made_.placements_.push_back(own);
    return made_.placements_.size() - made_.first_.back() <= kMostOfTable &&
           made_.placements_.size() <= kMost;
  }

  const std::vector<RankTraits>& ranks_;
  Rank num_ranks_;
  std::uint32_t ranks_per_host_;
  const RankPriceSet& prices_;
  double target_;
  TablePlacements& made_;
  // Of the placement that is made.
  const TableChoice* choice_ = nullptr;
  std::size_t num_groups_ = 0;
  Rank first_ = 0;  // where it may be
  Rank end_ = 0;
  std::vector<Taken> taken_;  // by rank
  std::vector<Rank> order_;   // by shard
};

std::optional<TablePlacements> TablePlacements::make(const std::vector<ChoicesOfTable>& tables,
                                                     const std::vector<RankTraits>& ranks,
                                                     std::uint32_t ranks_per_host,
                                                     const RankPriceSet& prices, double target,
                                                     StepLimit& limit) {
  if (ranks.size() > kMostRanks) return std::nullopt;
  TablePlacements made;
  Maker maker(ranks, ranks_per_host, prices, target, made);
  const bool all = std::all_of(tables.begin(), tables.end(),
                               [&](const ChoicesOfTable& own) { return maker.add_table(own); });
  limit.spend(made.parts_.size());
  if (!all) return std::nullopt;
  return made;
}

}  // namespace shardwright::embedding
