// The allocation whose rating and moves cost least together, and a bound on that sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/moves/held_plan.h"
#include "search/budget.h"
#include "search/embedding/questions/replan/move_annealer.h"
#include "search/embedding/questions/replan/move_costs.h"
#include "search/embedding/questions/replan/move_parameters.h"
#include "search/embedding/questions/replan/price_bound.h"

namespace shardwright::embedding {

// That no plan of the space costs less.
struct MoveProof {
  double bound = 0;
  std::optional<BoundCertificate> certificate;  // absent if it is the bound on ratings
};

// Anneals from several plans, again and again, and exchanges ranks where that moves less. Prices
// bound the sum; all plans of a small model are tried. The same plans, seed and work give the same
// answer.
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

  // The highest bound that core's check accepts for the search space: the one that trying all plans
  // gave, that of the prices, or `rating_bound`, which needs no proof here. Nothing is tried once
  // the budget is interrupted.
  // Time: at most about 0.2 s for each of the two.
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
  // By rank, of core's check.
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
  double bound_ = 0;              // by the given one, prices, or all plans
  double bound_by_all_ = 0;       // infinite if there is no plan
  std::uint64_t next_steps_ = 0;  // of the next try of all plans; 0 = no more
  std::uint64_t other_work_ = 0;  // beside annealing and prices
  std::uint64_t spent_ = 0;
  std::size_t rounds_ = 0;
  std::optional<double> labelled_cost_;  // of the best allocation that was labelled anew
};

}  // namespace shardwright::embedding
