#include "core/embedding/bound/search/find_plan.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/embedding/bound/search/all_plans.h"

namespace shardwright::embedding {
namespace {

constexpr std::uint32_t kRankLimit = 4096;

// The search recurses once per shard.
bool is_small(const SearchSpace& space, const Topology& available) {
  constexpr std::uint64_t kMostShards = 4096;
  std::vector<std::uint64_t> most(space.problem().tables().size(), 0);
  for (const ShardingOption& option : space.options()) {
    std::uint64_t& own = most[option.table.index()];
    own = std::max<std::uint64_t>(own, option.num_shards());
  }
  std::uint64_t shards = 0;
  for (const std::uint64_t own : most)
    shards += own;
  return available.world_size() <= kRankLimit && shards <= kMostShards;
}

// Returns true if at some prices the tables, each alone with its cheapest choice, cost more than
// all ranks are worth. Sums of so many terms are exact enough for the slack of prices.
bool is_too_dear(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
                 std::vector<RankPriceSet> prices, std::uint64_t& work,
                 const std::function<bool()>& is_stopped) {
  constexpr std::size_t kMostTables = std::size_t{1} << 15;
  if (available.world_size() > kRankLimit || space.problem().tables().size() > kMostTables)
    return false;
  const std::vector<ChoicesOfTable> none;
  const RankContents empty(space, available, none);
  ShardPrices shard_prices(empty, *goal.below, std::move(prices), goal.held != nullptr, work);
  PriceSums needed(shard_prices.size(), 0);
  bool has_places = true;
  for_each_table(space, available, goal, [&](const ChoicesOfTable& own) {
    PriceSums least(needed.size(), std::numeric_limits<double>::infinity());
    has_places = shard_prices.price_alone(own, least) > 0;
    for (std::size_t set = 0; set < needed.size(); ++set)
      needed[set] += least[set];
    if (is_stopped && is_stopped()) work = 0;
    return has_places && work > 0;
  });
  if (work == 0) return false;
  return !has_places || shard_prices.is_too_much(needed, shard_prices.worth_of_useful());
}

FoundPlan find(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
               std::vector<RankPriceSet> prices, std::uint64_t work_limit,
               const std::function<bool()>& is_stopped) {
  using Answer = FoundPlan::Answer;
  const std::size_t ranks = available.world_size();
  prices.emplace_back(ranks, CapacityMultipliers{0, 1, 0});
  prices.emplace_back(ranks, CapacityMultipliers{0, 0, 1});
  if (available.has_ssd()) prices.emplace_back(ranks, CapacityMultipliers{0, 0, 0, 1});
  if (goal.below) prices.emplace_back(ranks, CapacityMultipliers{1, 0, 0});
  if (goal.held != nullptr) prices.emplace_back(ranks, CapacityMultipliers{0, 0, 0});
  std::uint64_t work = work_limit;
  if (!is_small(space, available)) {
    const bool excluded =
        goal.below && is_too_dear(space, available, goal, std::move(prices), work, is_stopped);
    return {excluded ? Answer::kNoneExists : Answer::kTooLarge, std::nullopt,
            goal.below.value_or(0), work_limit - work};
  }
  AllPlans plans(space, available, goal, all_choices(space, available, goal), std::move(prices),
                 work, is_stopped);
  plans.run();
  Answer answer = work == 0 ? Answer::kGivenUp : Answer::kNoneExists;
  if (plans.found() && (work == 0 || goal.improvement == 0)) answer = Answer::kFound;
  return {answer, plans.found(), plans.target(), work_limit - work};
}

}  // namespace

FoundPlan find_any_plan(const SearchSpace& space, const Topology& available,
                        std::uint64_t work_limit, const std::function<bool()>& is_stopped) {
  return find(space, available, {}, {}, work_limit, is_stopped);
}

FoundPlan find_plan_below(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
                          std::vector<RankPriceSet> prices, std::uint64_t work_limit,
                          const std::function<bool()>& is_stopped) {
  return find(space, available, goal, std::move(prices), work_limit, is_stopped);
}

}  // namespace shardwright::embedding
