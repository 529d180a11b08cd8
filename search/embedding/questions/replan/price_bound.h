// A lower bound on rating plus moves by prices on the ranks' loads and memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "search/budget.h"
#include "search/embedding/model/context/search_context.h"
#include "search/embedding/questions/replan/move_costs.h"

namespace shardwright::embedding {

// Prices of a unit of load, as it counts in the rating, and of a byte on every rank. Those of the
// loads add up to at most 1, so they bound the cost of every plan: the largest load is at least the
// priced sum of loads, and memory that is not exceeded has a price of at most zero beyond its
// capacity. What is left separates by table: each takes its cheapest choice and places. Rules of
// single tables are respected, rules of groups are not.
// Source: Fisher 1981, "The Lagrangian relaxation method for solving integer programming problems".
// Thread safety: one thread at a time. Refers to the context and the costs.
class PriceBound {
 public:
  // Prices by rank.
  using Prices = std::vector<CapacityMultipliers>;

  PriceBound(const SearchContext& context, const MoveCosts& costs);

  // Raises the bound by `steps` steps of a subgradient method. `target`: a cost that is not below
  // the least one.
  void raise(double target, int steps, const Budget& budget);
  // No allocation costs less, up to rounding; infinite if there is none.
  double bound() const { return bound_; }
  // Those that prove the bound.
  const Prices& prices() const { return prices_; }

  // What a step takes.
  std::uint64_t step_work() const;
  std::uint64_t work() const { return work_; }

 private:
  // What all ranks hold.
  struct RankUse {
    double load = 0;
    PerTier<double> bytes = {};
  };
  using Use = std::vector<RankUse>;  // by rank

  double price(std::uint32_t choice, std::uint32_t shard, Rank rank, const Prices& prices) const;
  double least_in(std::uint32_t choice, Rank first, Rank end, const Prices& prices,
                  std::vector<Rank>& ranks);
  double least(std::uint32_t choice, const Prices& prices);
  double bound_at(const Prices& prices, Use& use, const Budget& budget);
  void take(std::uint32_t choice, Use& use) const;
  void step(const Use& use, double gap, Prices& prices) const;

  const SearchContext* context_;
  const MoveCosts* costs_;
  double bound_ = 0;
  Prices prices_;
  std::vector<Rank> ranks_;  // of the choice looked at last, where it costs least
  std::vector<Rank> trial_, best_ranks_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
