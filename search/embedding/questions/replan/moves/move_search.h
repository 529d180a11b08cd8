// Searches for the plan with the least rating + weight x GiB moved, and bounds that sum.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/model/option_pool.h"
#include "search/embedding/questions/replan/moves/move_annealer.h"
#include "search/embedding/questions/replan/moves/move_parameters.h"
#include "search/embedding/questions/replan/moves/move_tree.h"
#include "search/embedding/questions/replan/moves/price_bound.h"

namespace shardwright::embedding {

// Coolings and neighbourhoods take turns, each from the best allocation so far, one of the others or
// the old plan kept. A small model is also searched whole by branch and bound. The same plans, seed
// and work give the same answer.
// Thread safety: one thread at a time. Refers to the model and the old plan.
class MoveSearch {
 public:
  // `home`: the old plan kept, as far as the model has its options. It may break rules.
  MoveSearch(const ChoiceModel& model, const OldPlan& old, double weight, const Plan& home,
             std::uint64_t seed, const ReplanMoveParameters& parameters = {});

  // Starts from another plan as well, if the model has its options.
  void offer(const Plan& plan);
  // Searches until the best cost is proved, or until the budget is spent. `rating_bound`: no
  // plan rates less.
  void run(double rating_bound, Budget& budget);

  // The cheapest allocation; absent if none is feasible.
  const std::optional<CostedAllocation>& best() const { return annealer_.best(); }
  // No plan of the model costs less: as prices prove, as the bound on ratings proves, or because all
  // were tried.
  double bound() const;
  // The bound that prices alone prove, and those prices.
  double bound_by_prices() const { return bound_; }
  const RankPrices& prices() const { return prices_; }

  static constexpr double kLeastGain = 1e-9;  // relative; less is no better

 private:
  Allocation home_of(const Plan& plan) const;
  std::uint64_t work() const;
  void spend(Budget& budget);
  void raise_bound(const Budget& budget);
  bool is_proved() const;
  void search_whole(const Budget& budget);
  void search_neighbourhoods(const Budget& budget);
  void choose_tables();
  bool solve(std::span<const std::uint32_t> tables, std::uint64_t work, int price_steps,
             const Budget& budget);
  double scale() const;
  void cool(const Budget& budget);
  void relabel_starts(Budget& budget);
  void relabel_best(const Budget& budget);
  std::optional<Allocation> relabelled(const Allocation& allocation, const Budget& budget);

  ReplanMoveParameters parameters_;
  SearchContext context_;
  MoveCosts costs_;
  Allocation home_;
  std::vector<Allocation> starts_;
  MoveAnnealer annealer_;
  PriceBound price_bound_;
  AllocationState state_;  // the best allocation
  MoveTree tree_;
  RankPrices prices_;
  RandomGenerator random_;
  std::vector<std::uint32_t> all_tables_;
  std::vector<std::uint32_t> tables_;
  double given_bound_ = 0;   // on ratings
  double rating_bound_ = 0;  // on ratings, up to rounding
  double bound_ = 0;         // by prices
  bool solved_ = false;
  std::uint64_t tree_work_;
  std::uint64_t spent_ = 0;
  std::size_t rounds_ = 0;
  std::optional<double> labelled_cost_;  // of the best allocation that was labelled anew
  std::uint64_t label_work_ = 0;
};

}  // namespace shardwright::embedding
