#include "core/embedding/bound/plan_search.h"

#include <algorithm>
#include <limits>
#include <utility>

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

namespace {

constexpr std::uint32_t kRankLimit = 4096;

// Limits the length of the path from the root, which has a level per table and a branch per shard.
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

// Returns the given sets of prices, then sets for each memory tier, for load and for charges alone.
std::vector<RankPriceSet> all_prices(const PlanGoal& goal, const Topology& available,
                                     std::vector<RankPriceSet> prices) {
  const std::size_t ranks = available.world_size();
  prices.emplace_back(ranks, CapacityMultipliers{0, 1, 0});
  prices.emplace_back(ranks, CapacityMultipliers{0, 0, 1});
  if (available.has_ssd()) prices.emplace_back(ranks, CapacityMultipliers{0, 0, 0, 1});
  if (goal.below) prices.emplace_back(ranks, CapacityMultipliers{1, 0, 0});
  if (goal.held != nullptr) prices.emplace_back(ranks, CapacityMultipliers{0, 0, 0});
  return prices;
}

}  // namespace

PlanSearch::PlanSearch(const PlanGoal& goal, const SearchSpace& space, const Topology& available,
                       std::vector<RankPriceSet> prices, std::uint64_t work_limit,
                       std::function<bool()> is_stopped)
    : goal_(goal),
      space_(space),
      available_(available),
      prices_(all_prices(goal, available, std::move(prices))),
      work_limit_(work_limit),
      work_(work_limit),
      is_stopped_(std::move(is_stopped)) {
  found_.below = goal.below.value_or(0);
  if (is_small(space, available)) {
    tables_ = all_choices(space, available, goal_);
  } else {
    const bool excluded = goal.below && is_too_dear();
    end(excluded ? Answer::kNoneExists : Answer::kTooLarge);
  }
}

bool PlanSearch::run(std::uint64_t steps) {
  const std::uint64_t pause_at = work_ - std::min(steps, work_);
  if (goes_on() && pause_at < work_) try_all(pause_at);
  return !goes_on();
}

FoundPlan PlanSearch::take_answer() {
  if (found_.plan && work_ == 0) found_.answer = Answer::kFound;
  found_.steps = steps();
  return std::move(found_);
}

// Returns true if, at some set of prices, the tables cost more than all ranks are worth. Each table
// counts alone with its cheapest choice. Up to 2^15 tables, rounding stays below kSumSlack.
bool PlanSearch::is_too_dear() {
  constexpr std::size_t kMostTables = std::size_t{1} << 15;
  if (available_.world_size() > kRankLimit || space_.problem().tables().size() > kMostTables)
    return false;
  const std::vector<ChoicesOfTable> none;
  const RankContents empty(space_, available_, none);
  StepLimit limit(work_, is_stopped_);
  ShardPrices shard_prices(empty, *goal_.below, std::move(prices_), goal_.held != nullptr, limit);
  PriceSums needed(shard_prices.size(), 0);
  bool has_places = true;
  for_each_table(space_, available_, goal_, [&](const ChoicesOfTable& table_choices) {
    PriceSums least(needed.size(), std::numeric_limits<double>::infinity());
    has_places = shard_prices.price_alone(table_choices, least) > 0;
    for (std::size_t set = 0; set < needed.size(); ++set)
      needed[set] += least[set];
    if (is_stopped_ && is_stopped_()) work_ = 0;
    return has_places && work_ > 0;
  });
  if (work_ == 0) return false;
  return !has_places || shard_prices.is_too_much(needed, shard_prices.worth_of_useful());
}

// Pauses once at most `pause_at` steps are left.
void PlanSearch::try_all(std::uint64_t pause_at) {
  if (!plans_) {
    limit_.emplace(work_, is_stopped_);
    plans_ = std::make_unique<AllPlans>(space_, available_, goal_, std::move(tables_),
                                        std::move(prices_), *limit_);
  }
  if (!plans_->run(pause_at)) return;
  if (plans_->found()) found_.plan = plans_->found();
  found_.below = plans_->target();
  plans_.reset();
  if (found_.plan && goal_.improvement == 0) return end(Answer::kFound);
  if (work_ > 0) end(Answer::kNoneExists);
}

void PlanSearch::end(Answer answer) {
  found_.answer = answer;
  is_over_ = true;
}

}  // namespace shardwright::embedding
