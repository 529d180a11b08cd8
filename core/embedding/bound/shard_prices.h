// What shards cost and what ranks are worth, at several sets of prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/rank_contents.h"
#include "core/embedding/bound/rank_pricing.h"

namespace shardwright::embedding {

// Relative to all that the ranks are worth. Far above the rounding of sums over ranks and tables,
// far below kRatingSlack.
inline constexpr double kSumSlack = 1e-11;

// Prices of load and memory, by rank.
using RankPriceSet = std::vector<CapacityMultipliers>;

// Every rank has the multipliers of its class.
RankPriceSet prices_by_rank(const std::vector<CapacityMultipliers>& of_classes,
                            const std::vector<std::uint32_t>& class_of_rank);
using PriceSums = boost::container::small_vector<double, 13>;  // by set of prices

// Charges for moves: the largest load and the charges stay below the target together. At prices of
// loads that add up to at most w, the priced loads and w times the charges stay below w times the
// target. Source: Fisher 1981, "The Lagrangian relaxation method for solving integer programming
// problems".
// Thread safety: one thread at a time. Refers to the ranks and the limit.
class ShardPrices {
 public:
  ShardPrices(const RankContents& ranks, double target, std::vector<RankPriceSet> prices,
              bool has_charges, StepLimit& limit);

  std::size_t size() const { return prices_.size(); }
  // What ranks were worth before is still no less than what they are worth now.
  void lower_target(double target) { target_ = target; }
  // Leaves no set of prices.
  void drop() { prices_.clear(); }

  // Of one shard at the place, its charge included.
  double cost(std::size_t set, const EqualShards& shards, std::size_t place) const {
    const CapacityMultipliers& own = prices_[set][shards.ranks[place]];
    double sum = own.load * shards.load;
    for (const MemoryTier tier : kMemoryTiers)
      sum += own[tier] * shards.bytes[tier];
    return sum + charge_weight_[set] * shards.charge(place);
  }

  // No rank is useful until a shard was priced that it can take.
  void begin();
  // Lowers `least` to what the table's cheapest choice costs. Returns roughly in how many ways the
  // table can be placed; 0 if it cannot.
  double price_table(const ChoicesOfTable& own, std::size_t table, PriceSums& least);
  // The same for a table on ranks that hold nothing, whatever other tables there are.
  double price_alone(const ChoicesOfTable& own, PriceSums& least);
  // Notes where the rules about several shards allow the table; for price_shards().
  void find_joins(std::size_t table);
  // Adds the least that the choice's i-th group of equal shards, or the blocks that begin with it,
  // cost on ranks from `first` to `end`. Returns in how many ways they can be there, roughly; 0 if
  // not at all.
  double price_shards(const ChoicesOfTable& own, const TableChoice& choice, std::size_t i,
                      Rank first, Rank end, PriceSums& sums);
  // Returns false if tables that are kept apart, among those priced since begin(), need more ranks
  // or hosts than are useful to them.
  bool can_be_apart() const;
  // What the load and the memory left on all useful ranks are worth, and what is left for charges.
  PriceSums worth_of_useful() const;
  // Returns true if at some prices more is needed than is left, beyond rounding.
  bool is_too_much(const PriceSums& needed, const PriceSums& left) const;

 private:
  double worth(std::size_t set, Rank rank) const;
  std::uint32_t most_on(Rank rank, const EqualShards& shards, bool distinct) const;
  // At most how many of the equal shards, or blocks, fit at the place; cost_here_ is what one
  // costs.
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
  std::uint32_t least_ranks_ = 0;     // that the shards, choice or table being priced needs
  // What the tables of a group that is kept apart need, and where they can be.
  struct Apart {
    std::uint32_t needed = 0;
    std::vector<std::uint8_t> useful;  // by rank
  };
  std::vector<Apart> apart_;  // by group
};

}  // namespace shardwright::embedding
