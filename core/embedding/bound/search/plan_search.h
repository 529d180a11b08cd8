// A search of all plans that can pause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/search/filling/rank_filling.h"
#include "core/embedding/bound/search/find_plan.h"
#include "core/embedding/bound/search/tree/all_plans.h"

namespace shardwright::embedding {

// What find_plan_below() and find_any_plan() do, in as many calls as the caller likes: the answer
// and the number of steps are the same.
//
// Fills ranks and tries all plans by turns. Each is exponentially faster than the other one
// somewhere, and begins anew with more steps. So a check takes what the search took, whatever its
// limit.
// Thread safety: one thread at a time. Refers to the space, the topology and what the goal borrows.
class PlanSearch {
 public:
  // The arguments are those of find_plan_below(); without a target, those of find_any_plan(). Of a
  // problem that is too large, the prices are all that is looked at, at once.
  PlanSearch(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
             std::vector<RankPriceSet> prices, std::uint64_t work_limit,
             std::function<bool()> is_stopped);
  PlanSearch(const PlanSearch&) = delete;
  PlanSearch& operator=(const PlanSearch&) = delete;

  // Goes on for at least so many steps. The turns before the last one, of up to 2^20 steps each, do
  // not pause. Returns true if the search has ended.
  bool run(std::uint64_t steps);
  // So far.
  std::uint64_t steps() const { return work_limit_ - work_ - later_; }
  // Once. Precondition: run() has returned true.
  FoundPlan take_answer();

 private:
  using Answer = FoundPlan::Answer;

  bool was_stopped() const { return work_ == 0 && is_stopped_ && is_stopped_(); }
  bool goes_on() const { return !is_over_ && work_ > 0; }
  bool is_too_dear();
  void take_turn(std::uint64_t pause_at);
  void fill_ranks();
  void try_all(std::uint64_t pause_at);
  void end(Answer answer);

  PlanGoal goal_;
  const SearchSpace& space_;
  const Topology& available_;
  std::vector<RankPriceSet> prices_;
  std::uint64_t work_limit_;
  std::uint64_t work_;       // steps left, in this turn
  std::uint64_t later_ = 0;  // after this turn
  std::function<bool()> is_stopped_;
  std::vector<ChoicesOfTable> tables_;
  std::vector<RankTraits> ranks_;
  std::optional<TablePlacements> placements_;
  bool may_fill_;  // without placement rules and moves
  std::size_t turn_ = 0;
  std::optional<StepLimit> limit_;   // of plans_
  std::unique_ptr<AllPlans> plans_;  // null unless they are being tried
  FoundPlan found_;
  bool is_over_ = false;
};

}  // namespace shardwright::embedding
