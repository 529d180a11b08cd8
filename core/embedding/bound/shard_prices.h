// Prices shards and the capacity left on ranks, at several sets of prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/rank_contents.h"
#include "core/embedding/bound/rank_pricing.h"

namespace shardwright::embedding {

// The slack of comparisons of priced sums, relative to the value of all ranks. Far above the
// rounding of sums over ranks and tables, far below kRatingSlack.
inline constexpr double kSumSlack = 1e-11;

// Prices of load and memory, by rank.
using RankPriceSet = std::vector<CapacityMultipliers>;

// Every rank has the multipliers of its class.
RankPriceSet prices_by_rank(const std::vector<CapacityMultipliers>& of_classes,
                            const std::vector<std::uint32_t>& class_of_rank);
using PriceSums = boost::container::small_vector<double, 13>;  // by set of prices

// The Lagrangian bound of a search over all plans. With moves, the largest load plus all charges
// must stay below the target. If the prices of loads add up to at most w, the priced loads plus w
// times the charges then stay below w times the target. Source: Fisher 1981, "The Lagrangian
// relaxation method for solving integer programming problems".
// Thread safety: one thread at a time. Refers to the ranks and the limit.
class ShardPrices {
 public:
  ShardPrices(const RankContents& ranks, double target, std::vector<RankPriceSet> prices,
              bool has_charges, StepLimit& limit);

  std::size_t size() const { return prices_.size(); }
  // Values of ranks that were computed before stay valid upper bounds.
  void lower_target(double target) { target_ = target; }
  // Removes all sets of prices.
  void drop() { prices_.clear(); }

  // The cost of one shard at the place, including its charge.
  double cost(std::size_t set, const EqualShards& shards, std::size_t place) const {
    const CapacityMultipliers& multipliers = prices_[set][shards.ranks[place]];
    double sum = multipliers.load * shards.load;
    for (const MemoryTier tier : kMemoryTiers)
      sum += multipliers[tier] * shards.bytes[tier];
    return sum + charge_weight_[set] * shards.charge(place);
  }

  // Marks all ranks as not useful. price_table() marks the ranks that can take a shard.
  void begin();
  // Lowers `least` to the cost of the table's cheapest choice. Returns the approximate number of
  // placements of the table; 0 if there is none.
  double price_table(const ChoicesOfTable& table_choices, std::size_t table, PriceSums& least);
  // The same for a table alone on empty ranks; marks no ranks.
  double price_alone(const ChoicesOfTable& own, PriceSums& least);
  // Finds the ranks where the rules about several shards allow the table, for price_shards().
  void find_joins(std::size_t table);
  // Adds the least cost of the choice's i-th group of equal shards, or of the blocks that begin
  // with it, on ranks [first, end). Returns roughly the number of placements; 0 if none.
  double price_shards(const ChoicesOfTable& own, const TableChoice& choice, std::size_t i,
                      Rank first, Rank end, PriceSums& sums);
  // Returns false if tables that are kept apart, among those priced since begin(), need more ranks
  // or hosts than are useful to them.
  bool can_be_apart() const;
  // The value of the load and memory left on all useful ranks, plus what is left for charges.
  PriceSums worth_of_useful() const;
  // Returns true if at some set of prices `needed` exceeds `left` by more than rounding.
  bool is_too_much(const PriceSums& needed, const PriceSums& left) const;

 private:
  double worth(std::size_t set, Rank rank) const;
  std::uint32_t most_on(Rank rank, const EqualShards& shards, bool distinct) const;
  // An upper bound on the number of equal shards or blocks that fit at the place. Sets cost_here_
  // to the cost of one.
  std::uint32_t most_at(const ChoicesOfTable& own, const TableChoice& choice, std::size_t i,
                        std::size_t place);
  void note_useful(std::size_t table);
  double price_choice(const ChoicesOfTable& own, const TableChoice& choice, PriceSums& least);

  const RankContents& ranks_;
  double target_;
  bool has_charges_;
  std::vector<RankPriceSet> prices_;
  StepLimit& limit_;
  PriceSums charge_weight_;  // what a unit of charges costs: the prices of all loads, or 1
  PriceSums slack_;
  PriceSums cheapest_;                // scratch of price_shards
  PriceSums cost_here_;               // scratch of most_at
  std::vector<std::uint8_t> joins_;   // by rank
  std::vector<std::uint32_t> most_;   // of the shards being priced, by rank or host
  std::vector<std::uint8_t> here_;    // by rank, where the choice being priced can be
  std::vector<std::uint8_t> useful_;  // by rank
  std::uint32_t least_ranks_ = 0;     // needed by the shards, choice or table being priced
  // What the tables of a group that is kept apart need, and where they can be.
  struct Apart {
    std::uint32_t needed = 0;
    std::vector<std::uint8_t> useful;  // by rank
  };
  std::vector<Apart> apart_;  // by group
};

}  // namespace shardwright::embedding
