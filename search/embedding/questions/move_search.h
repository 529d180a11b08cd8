// The search for the least rating plus cost of moves, and lower bounds that prove its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/rank_flows.h"
#include "search/budget.h"
#include "search/embedding/model/search_context.h"
#include "search/embedding/questions/move_annealer.h"
#include "search/embedding/questions/move_costs.h"

namespace shardwright::embedding {

// A lower bound on rating plus cost of moves by Lagrangian relaxation. Every rank has a price of a
// unit of load, as it counts in the rating, and of a byte. The prices of load add up to at most 1,
// so the largest load is at least the priced sum of loads. The priced bytes minus the priced
// capacity are added; this difference is at most zero if the plan fits. The relaxed problem
// separates by table: each table takes its cheapest choice and ranks. Rules of single tables are
// respected, rules of groups are not.
// Source: Fisher 1981, "The Lagrangian relaxation method for solving integer programming problems".
// Thread safety: one thread at a time. Refers to the context and the costs.
class PriceBound {
 public:
  // Prices by rank.
  using Prices = std::vector<CapacityMultipliers>;

  PriceBound(const SearchContext& context, const MoveCosts& costs);

  // Raises the bound by `steps` steps of a subgradient method. `target`: an upper bound on the
  // least cost.
  void raise(double target, int steps, const Budget& budget);
  // No allocation costs less than this bound, up to rounding. Infinite if no allocation exists.
  double bound() const { return bound_; }
  // The prices that prove the bound.
  const Prices& prices() const { return prices_; }

  // The work of a step.
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

// Proves that no plan of the space costs less than `bound`.
struct MoveProof {
  double bound = 0;
  std::optional<BoundCertificate> certificate;  // absent for the bound on ratings
};

// Minimises rating plus cost of moves: anneals from several plans in turn, exchanges ranks where
// fewer bytes move, bounds the sum by prices, and searches all plans of a small model. The same
// plans, seed and work give the same answer.
// Thread safety: one thread at a time. Refers to the model and what the ranks hold.
class MoveSearch {
 public:
  // `home`: the old plan kept, as far as the model has its options. It may break rules.
  MoveSearch(const ChoiceModel& model, const HeldPlan& held, MovesCount moves_count,
             const Plan& home, std::uint64_t seed, const ReplanMoveParameters& parameters = {});

  // Starts from another plan as well, if the model has its options.
  void offer(const Plan& plan);
  // Searches until the best cost is proved, or until the budget is spent. `rating_bound`: no
  // plan rates less.
  void run(double rating_bound, Budget& budget);

  // The cheapest allocation; absent if none is feasible.
  const std::optional<CostedAllocation>& best() const { return annealer_.best(); }

  // Returns a bound that core's check accepts for the search space: the bound of the search over
  // all plans, else the bound by prices, else `rating_bound`, which needs no proof here. No check
  // begins once the budget is interrupted.
  // Time: at most about 0.2 s for each of the two checks.
  MoveProof prove(double rating_bound, Budget& budget) const;

 private:
  Allocation home_of(const Plan& plan) const;
  std::uint64_t work() const;
  void spend(Budget& budget);
  void raise_bound(const Budget& budget);
  bool is_proved() const;
  void try_all_plans(const Budget& budget);
  double scale() const;
  void cool(const Budget& budget);
  void relabel_starts(Budget& budget);
  void relabel_best(const Budget& budget);
  std::optional<Allocation> relabelled(const Allocation& allocation, const Budget& budget);
  // The prices by rank, in the form of core's check.
  std::vector<CapacityMultipliers> multipliers() const;

  ReplanMoveParameters parameters_;
  MovesCount moves_count_;
  SearchContext context_;
  const HeldPlan& held_;
  MoveCosts costs_;
  Allocation home_;
  std::vector<Allocation> starts_;
  MoveAnnealer annealer_;
  PriceBound price_bound_;
  AllocationState state_;         // of a start, or the best allocation
  double rating_bound_ = 0;       // given or, up to rounding, the context's
  double bound_ = 0;              // the largest of: given, by prices, by all plans
  double bound_by_all_ = 0;       // infinite if there is no plan
  std::uint64_t next_steps_ = 0;  // of the next try of all plans; 0 = no more
  std::uint64_t other_work_ = 0;  // beside annealing and prices
  std::uint64_t spent_ = 0;
  std::size_t rounds_ = 0;
  std::optional<double> labelled_cost_;  // of the best allocation that was labelled anew
};

}  // namespace shardwright::embedding
