// Looks for a plan by trying all plans, and so shows that there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/embedding/bound/search/choices/plan_goal.h"
#include "core/embedding/bound/search/state/shard_prices.h"
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

}  // namespace shardwright::embedding
