// Prices of shards and of the capacity left on ranks, for several sets of prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/rank_contents.h"
#include "core/embedding/bound/rank_pricing.h"

namespace shardwright::embedding {

// The slack of comparisons of priced sums, relative to the value of all ranks. It is far above the
// rounding errors of sums over ranks and tables, and far below kRatingSlack.
inline constexpr double kSumSlack = 1e-11;

// Prices of load and memory, indexed by rank.
using RankPriceSet = std::vector<CapacityMultipliers>;

// Gives every rank the multipliers of its class.
RankPriceSet prices_by_rank(const std::vector<CapacityMultipliers>& of_classes,
                            const std::vector<std::uint32_t>& class_of_rank);
using PriceSums = boost::container::small_vector<double, 13>;  // indexed by set of prices

// The Lagrangian bound of a search over all plans. With moves, the largest load plus all charges
// must stay below the target. Let w be at least the sum of the prices of loads. Then the priced
// loads plus w times the charges stay below w times the target. Source: Fisher 1981, "The
// Lagrangian relaxation method for solving integer programming problems".
// Thread safety: one thread at a time. Refers to the ranks and the limit.
class ShardPrices {
 public:
  ShardPrices(const RankContents& ranks, double target, std::vector<RankPriceSet> prices,
              bool has_charges, StepLimit& limit);

  std::size_t size() const { return prices_.size(); }
  // Lowers the target. Rank values computed before remain valid upper bounds.
  void lower_target(double target) { target_ = target; }
  // Removes all sets of prices.
  void drop() { prices_.clear(); }

  // The cost of one shard at the place, including its charge for moves.
  double cost(std::size_t set, const EqualShards& shards, std::size_t place) const {
    const CapacityMultipliers& multipliers = prices_[set][shards.ranks[place]];
    double sum = multipliers.load * shards.load;
    for (const MemoryTier tier : kMemoryTiers)
      sum += multipliers[tier] * shards.bytes[tier];
    return sum + charge_weight_[set] * shards.charge(place);
  }

  // Marks all ranks as not useful. price_table() marks the ranks that can take a shard as useful.
  void begin();
  // Lowers `least` to the cost of the table's cheapest choice. Returns the approximate number of
  // placements of the table, or 0 if it has none.
  double price_table(const ChoicesOfTable& table_choices, std::size_t table, PriceSums& least);
  // Does the same for a table alone on empty ranks, without marking ranks.
  double price_alone(const ChoicesOfTable& table_choices, PriceSums& least);
  // Finds the ranks on which RankContents::may_join() allows the table, for price_shards().
  void find_joins(std::size_t table);
  // Adds to `sums` the least cost of the choice's i-th group of equal shards, or of the blocks that
  // begin with it, on ranks [first, end). Returns the approximate number of placements; 0 if none.
  double price_shards(const ChoicesOfTable& table_choices, const TableChoice& choice, std::size_t i,
                      Rank first, Rank end, PriceSums& sums);
  // Returns false if the tables of a keep_apart group that were priced since begin() need more
  // ranks or hosts than are useful to them.
  bool can_be_apart() const;
  // The value of load and memory left on all useful ranks, plus the value left for charges.
  PriceSums worth_of_useful() const;
  // Returns true if, at some set of prices, `needed` exceeds `left` by more than rounding errors.
  bool is_too_much(const PriceSums& needed, const PriceSums& left) const;

 private:
  double worth(std::size_t set, Rank rank) const;
  std::uint32_t most_on(Rank rank, const EqualShards& shards, bool distinct) const;
  // Returns an upper bound on the number of equal shards or blocks that fit at the place, or 0 if
  // none fits. Sets cost_here_ to the cost of one shard or block.
  std::uint32_t most_at(const ChoicesOfTable& table_choices, const TableChoice& choice,
                        std::size_t i, std::size_t place);
  void note_useful(std::size_t table);
  double price_choice(const ChoicesOfTable& table_choices, const TableChoice& choice,
                      PriceSums& least);

  const RankContents& ranks_;
  double target_;
  bool has_charges_;
  std::vector<RankPriceSet> prices_;
  StepLimit& limit_;
  PriceSums charge_weight_;  // cost of a unit of charges: the prices of all loads, at least 1
  PriceSums slack_;
  PriceSums cheapest_;                // scratch of price_shards
  PriceSums cost_here_;               // scratch of most_at
  std::vector<std::uint8_t> joins_;   // by rank
  std::vector<std::uint32_t> most_;   // upper bounds on equal shards, by rank or host
  std::vector<std::uint8_t> here_;    // by rank: whether the choice being priced can be there
  std::vector<std::uint8_t> useful_;  // by rank
  std::uint32_t least_ranks_ = 0;     // lower bound for the shards, choice or table being priced
  // The ranks or hosts that the tables of a keep_apart group need, and the ranks where they can be.
  struct Apart {
    std::uint32_t needed = 0;
    std::vector<std::uint8_t> useful;  // by rank
  };
  std::vector<Apart> apart_;  // by group
};

}  // namespace shardwright::embedding
