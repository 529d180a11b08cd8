#include "core/embedding/bound/search/find_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/embedding/bound/search/all_plans.h"

namespace shardwright::embedding {
namespace {

// The search recurses once per shard.
bool is_small(const SearchSpace& space, const Topology& available) {
  constexpr std::uint32_t kMostRanks = 4096;
  constexpr std::uint64_t kMostShards = 4096;
  std::vector<std::uint64_t> most(space.problem().tables().size(), 0);
  for (const ShardingOption& option : space.options()) {
    std::uint64_t& own = most[option.table.index()];
    own = std::max<std::uint64_t>(own, option.num_shards());
  }
  std::uint64_t shards = 0;
  for (const std::uint64_t own : most)
    shards += own;
  return available.world_size() <= kMostRanks && shards <= kMostShards;
}

FoundPlan find(const SearchSpace& space, const Topology& available, std::optional<double> below,
               std::vector<RankPriceSet> prices, std::uint64_t work_limit) {
  using Answer = FoundPlan::Answer;
  if (!is_small(space, available)) return {Answer::kTooLarge, std::nullopt, 0};
  const std::size_t ranks = available.world_size();
  prices.emplace_back(ranks, CapacityMultipliers{0, 1, 0});
  prices.emplace_back(ranks, CapacityMultipliers{0, 0, 1});
  if (below) prices.emplace_back(ranks, CapacityMultipliers{1, 0, 0});
  std::uint64_t work = work_limit;
  AllPlans plans(space, available, below, all_choices(space, available, below), std::move(prices),
                 work);
  plans.run();
  Answer answer = work == 0 ? Answer::kGivenUp : Answer::kNoneExists;
  if (plans.found()) answer = Answer::kFound;
  return {answer, plans.found(), work_limit - work};
}

}  // namespace

FoundPlan find_any_plan(const SearchSpace& space, const Topology& available,
                        std::uint64_t work_limit) {
  return find(space, available, std::nullopt, {}, work_limit);
}

FoundPlan find_plan_below(double target, const SearchSpace& space, const Topology& available,
                          std::vector<RankPriceSet> prices, std::uint64_t work_limit) {
  return find(space, available, target, std::move(prices), work_limit);
}

}  // namespace shardwright::embedding
