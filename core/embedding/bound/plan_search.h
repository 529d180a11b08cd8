// An exhaustive search for a plan, which can also prove that no plan exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/all_plans.h"
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
    kTooLarge,  // too many ranks or shards
    kGivenUp,   // work limit reached, or is_stopped() returned true
  };
  Answer answer = Answer::kGivenUp;
  // The plan, only with kFound. With an improvement, the last plan found, whatever the answer. Does
  // not keep the options of the space alive.
  std::optional<Plan> plan;
  // The final target; 0 without a target. With an improvement, every plan found lowers the target.
  double below = 0;
  std::uint64_t steps = 0;
};

// The default work limit of find_any_plan(): less than a second.
inline constexpr std::uint64_t kAnyPlanSteps = std::uint64_t{1} << 26;

// Tries every option of every table on all ranks, table by table (AllPlans), under all placement
// rules. `available` is the topology after reservation and margin.
FoundPlan find_any_plan(const SearchSpace& space, const Topology& available,
                        std::uint64_t work_limit = kAnyPlanSteps,
                        const std::function<bool()>& is_stopped = {});

// Like find_any_plan(), for a plan whose rating, plus charges for moves if the goal has an old
// plan, is below the target of `goal`. The plan obeys all rules and fits the memory, but is not
// checked by evaluate(). `prices` prune the search. Loads are summed in floating point, so the
// target must exceed a claimed bound by kRatingSlack. Precondition: `goal` has a target.
//
// With an improvement, the search is branch and bound. kNoneExists then means that no plan rates
// below FoundPlan::below.
//
// For both functions, kNoneExists implies that evaluate() accepts no such plan. Time: exponential
// in the worst case, at most `work_limit` steps. A step examines one rank. Both return kTooLarge at
// once with more than 4,096 ranks, or if a plan may have more than 4,096 shards. Exception: if
// prices alone exclude all plans below the target, the answer is kNoneExists.
FoundPlan find_plan_below(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
                          std::vector<RankPriceSet> prices, std::uint64_t work_limit,
                          const std::function<bool()>& is_stopped = {});

// The search of find_plan_below() or find_any_plan(), which can pause. The answer and the number of
// steps do not depend on the number of calls.
// Thread safety: one thread at a time. Refers to the space, the topology and what the goal borrows.
class PlanSearch {
 public:
  // Takes the arguments of find_plan_below(). Without a target, searches like find_any_plan(). If
  // the problem is too large, the constructor only tests whether prices exclude all plans.
  PlanSearch(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
             std::vector<RankPriceSet> prices, std::uint64_t work_limit,
             std::function<bool()> is_stopped);
  PlanSearch(const PlanSearch&) = delete;
  PlanSearch& operator=(const PlanSearch&) = delete;

  // Takes at least `steps` steps unless the search ends before. Returns true if it has ended.
  bool run(std::uint64_t steps);
  // Steps taken so far.
  std::uint64_t steps() const { return work_limit_ - work_; }
  // Returns the answer. Call it once. Precondition: run() has returned true.
  FoundPlan take_answer();

 private:
  using Answer = FoundPlan::Answer;

  bool goes_on() const { return !is_over_ && work_ > 0; }
  bool is_too_dear();
  void try_all(std::uint64_t pause_at);
  void end(Answer answer);

  PlanGoal goal_;
  const SearchSpace& space_;
  const Topology& available_;
  std::vector<RankPriceSet> prices_;
  std::uint64_t work_limit_;
  std::uint64_t work_;  // steps left
  std::function<bool()> is_stopped_;
  std::vector<ChoicesOfTable> tables_;
  std::optional<StepLimit> limit_;   // of plans_
  std::unique_ptr<AllPlans> plans_;  // null before and after the enumeration
  FoundPlan found_;
  bool is_over_ = false;
};

}  // namespace shardwright::embedding
