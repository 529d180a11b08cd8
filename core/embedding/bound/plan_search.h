// Looks for a plan by trying all plans, and so shows that there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/all_plans.h"
#include "core/embedding/bound/rank_filling.h"
#include "core/embedding/bound/shard_prices.h"
#include "core/embedding/bound/table_choices.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

struct FoundPlan {
  enum class Answer : std::uint8_t {
    kFound,
    kNoneExists,
    kTooLarge,  // too many ranks or shards to begin
    kGivenUp,   // the work limit was reached, or is_stopped() said so
  };
  Answer answer = Answer::kGivenUp;
  // Only with kFound, but for a goal with an improvement; does not keep the options of the space
  // alive.
  std::optional<Plan> plan;
  // The target in the end; 0 without one. An improvement lowers it with every plan.
  double below = 0;
  std::uint64_t steps = 0;
};

// Steps of a search for any plan that is to take less than a second.
inline constexpr std::uint64_t kAnyPlanSteps = std::uint64_t{1} << 26;

// Tries every option of every table on all ranks, table by table (AllPlans). All placement rules
// count. `available` is the topology after reservation and margin.
FoundPlan find_any_plan(const SearchSpace& space, const Topology& available,
                        std::uint64_t work_limit = kAnyPlanSteps,
                        const std::function<bool()>& is_stopped = {});

// The same for a plan that rates below a target, moves included if there is an old plan. The plan
// found obeys all rules and fits the memory, but evaluate() is not asked. `prices` shorten the
// search; where the first of them bound the rating closely, without rules and moves, ranks are
// filled one after the other, too (RankFilling). Loads of ranks are sums in floating point, so the
// target must lie above a claimed bound by kRatingSlack. Precondition: `goal` has a target.
//
// With an improvement the search is branch and bound. kNoneExists then says that no plan rates less
// than `below`, the answer's, and the plan found last is there with any answer.
//
// Both: a plan that evaluate() accepts exists only if one is found. Time: exponential in the worst
// case; at most `work_limit` steps, each of which looks at a rank. They give up at once if there
// are more than 4,096 ranks, or if a plan may have more than 4,096 shards; with a target, prices
// alone may then still exclude all plans.
FoundPlan find_plan_below(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
                          std::vector<RankPriceSet> prices, std::uint64_t work_limit,
                          const std::function<bool()>& is_stopped = {});

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
