// A lower bound on rating plus moves by prices on the ranks' loads and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/embedding/model/context/search_context.h"
#include "search/embedding/questions/replan/costs/move_costs.h"

namespace shardwright::embedding {

// Prices of one unit of load and of one byte on every rank. The loads' prices add up to at most 1.
struct RankPrices {
  explicit RankPrices(std::size_t ranks) : load(ranks), bytes(ranks) {}
  // What load and bytes on the rank cost. The load is as it counts in the rating.
  double of(Rank rank, double own_load, const PerTier<double>& own) const {
    return add_priced(load[rank] * own_load, bytes[rank], own);
  }

  std::vector<double> load;  // by rank
  std::vector<PerTier<double>> bytes;
};

// What all ranks hold.
struct UseOfRanks {
  explicit UseOfRanks(std::size_t ranks) : load(ranks), bytes(ranks) {}
  void add(Rank rank, double own_load, const PerTier<double>& own) {
    load[rank] += own_load;
    for (const MemoryTier tier : kMemoryTiers)
      bytes[rank][tier] += own[tier];
  }

  std::vector<double> load;  // by rank, as it counts in the rating
  std::vector<PerTier<double>> bytes;
};

// Any prices bound the cost of every plan: the largest load is at least the priced sum of loads,
// and memory that is not exceeded has a price of at most zero beyond its capacity. What is left
// separates by table: each takes its cheapest choice and places. Rules of single tables are
// respected, rules of groups are not.
// Source: Fisher 1981, "The Lagrangian relaxation method for solving integer programming problems".
// Thread safety: one thread at a time. Refers to the context and the costs.
class PriceBound {
 public:
  PriceBound(const SearchContext& context, const MoveCosts& costs);

  // The price of a shard on a rank, its move included. Infinite if it never may be there.
  double price(std::uint32_t choice, std::uint32_t shard, Rank rank,
               const RankPrices& prices) const;
  // The least price of a choice over all places. Adds what the shards then take to `use`, if given.
  double least(std::uint32_t choice, const RankPrices& prices, UseOfRanks* use);
  // What the memory of all ranks is worth.
  double capacity(const RankPrices& prices) const;

  // Raises the bound of `tables` beside `fixed`, which others take and whose moves cost
  // `fixed_moved`, by `steps` steps of a subgradient method, starting from `prices`, and leaves the
  // best prices there. `target`: a cost that is not below the least one. Returns the bound.
  double raise(std::span<const std::uint32_t> tables, const UseOfRanks& fixed, double fixed_moved,
               double target, int steps, RankPrices& prices, const Budget& budget);

  // What a step takes if all tables are free.
  std::uint64_t step_work() const;
  std::uint64_t work() const { return work_; }

 private:
  double bound_at(std::span<const std::uint32_t> tables, const UseOfRanks& fixed,
                  double fixed_moved, const RankPrices& prices, UseOfRanks& use,
                  const Budget& budget);
  double least_in(std::uint32_t choice, Rank first, std::uint32_t count, const RankPrices& prices,
                  std::vector<Rank>& ranks);
  double least_by_blocks(std::uint32_t choice, const RankPrices& prices, std::vector<Rank>& ranks);
  void step(const UseOfRanks& use, double gap, RankPrices& prices) const;

  const SearchContext* context_;
  const MoveCosts* costs_;
  std::vector<Rank> ranks_, trial_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
