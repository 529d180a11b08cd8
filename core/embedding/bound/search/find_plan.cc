#include "core/embedding/bound/search/find_plan.h"

#include <limits>
#include <utility>

#include "core/embedding/bound/search/plan_search.h"

namespace shardwright::embedding {
namespace {

FoundPlan find(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
               std::vector<RankPriceSet> prices, std::uint64_t work_limit,
               const std::function<bool()>& is_stopped) {
  PlanSearch search(goal, space, available, std::move(prices), work_limit, is_stopped);
  search.run(std::numeric_limits<std::uint64_t>::max());
  return search.take_answer();
}

}  // namespace

FoundPlan find_any_plan(const SearchSpace& space, const Topology& available,
                        std::uint64_t work_limit, const std::function<bool()>& is_stopped) {
  return find({}, space, available, {}, work_limit, is_stopped);
}

FoundPlan find_plan_below(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
                          std::vector<RankPriceSet> prices, std::uint64_t work_limit,
                          const std::function<bool()>& is_stopped) {
  return find(goal, space, available, std::move(prices), work_limit, is_stopped);
}

}  // namespace shardwright::embedding
