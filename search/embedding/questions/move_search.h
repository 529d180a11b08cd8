// The search for a plan with the least rating plus cost of moves, and lower bounds of this sum.
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

// A lower bound of rating plus cost of moves, by Lagrangian relaxation. Every rank has a price per
// unit of load and per byte. The prices of load add up to at most 1, so the largest load is at
// least the priced sum of all loads. The bound adds the priced bytes less the priced capacity,
// which is at most 0 if the plan fits. In the relaxed problem every table takes its cheapest choice
// and ranks. It obeys rules of single tables and ignores rules of groups.
// Source: Fisher 1981, "The Lagrangian relaxation method for solving integer programming problems".
// Thread safety: one thread at a time. Refers to the context and the costs.
class PriceBound {
 public:
  // Prices by rank.
  using Prices = std::vector<CapacityMultipliers>;

  PriceBound(const SearchContext& context, const MoveCosts& costs);

  // Raises the bound by `steps` steps of a subgradient method. `target`: an upper bound of the
  // least cost.
  void raise(double target, int steps, const Budget& budget);
  // The lower bound, up to rounding. Infinite if no allocation exists.
  double bound() const { return bound_; }
  // The prices that prove the bound.
  const Prices& prices() const { return prices_; }

  // The work of one subgradient step.
  std::uint64_t step_work() const;
  std::uint64_t work() const { return work_; }

 private:
  // What one rank holds.
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
  std::vector<Rank> ranks_;  // cheapest ranks of the choice looked at last
  std::vector<Rank> trial_, best_ranks_;
  std::uint64_t work_ = 0;
};

// States that no plan of the space costs less than `bound`.
struct MoveProof {
  double bound = 0;
  std::optional<BoundCertificate> certificate;  // absent if `bound` bounds the rating alone
};

// Minimises rating plus cost of moves: anneals from several plans in turn, exchanges ranks to move
// fewer bytes, computes a PriceBound, and searches all plans of a small model. The same plans, seed
// and work give the same answer.
// Thread safety: one thread at a time. Refers to `model` and `held`.
class MoveSearch {
 public:
  // `home`: the old plan. It may break rules and have options that the model lacks.
  MoveSearch(const ChoiceModel& model, const HeldPlan& held, MovesCount moves_count,
             const Plan& home, std::uint64_t seed, const ReplanMoveParameters& parameters = {});

  // Adds a plan from which annealing starts, if the model has its options.
  void offer(const Plan& plan);
  // Searches until the best cost is proved, or until the budget is spent. `rating_bound`: a lower
  // bound of the rating of all plans.
  void run(double rating_bound, Budget& budget);

  // The cheapest feasible allocation; absent if none was found.
  const std::optional<CostedAllocation>& best() const { return annealer_.best(); }

  // Returns a bound that check_move_bound() accepts: that of the search over all plans, or else of
  // prices. If neither is accepted, returns `rating_bound` without a certificate. No check begins
  // once the budget is interrupted.
  // Takes at most about 0.2 s for each of the two checks.
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
  // The prices by rank, as check_move_bound() wants them.
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
  AllocationState state_;         // scratch for starts and the best allocation
  double rating_bound_ = 0;       // the given bound, or that of context_
  double bound_ = 0;              // the best of all bounds
  double bound_by_all_ = 0;       // by search of all plans; infinite if there is no plan
  std::uint64_t next_steps_ = 0;  // of the next search of all plans; 0 = none follows
  std::uint64_t other_work_ = 0;  // except for annealing and prices
  std::uint64_t spent_ = 0;
  std::size_t rounds_ = 0;
  std::optional<double> labelled_cost_;  // cost of best() when its ranks were last relabelled
};

}  // namespace shardwright::embedding
