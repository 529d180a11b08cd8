#include "core/embedding/bound/search/find_plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/embedding/bound/search/filling/rank_filling.h"
#include "core/embedding/bound/search/tree/all_plans.h"

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
  StepLimit limit(work, is_stopped);
  ShardPrices shard_prices(empty, *goal.below, std::move(prices), goal.held != nullptr, limit);
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

Plan plan_of(const SearchSpace& space, const TablePlacements& placements,
             const std::vector<std::uint32_t>& placement_of_table) {
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (const std::uint32_t placement : placement_of_table) {
    const PlacedShards& own = placements[placement];
    options.push_back(&space.option(own.choice->option));
    const auto of_shards = placements.ranks_of_shards(own);
    ranks.insert(ranks.end(), of_shards.begin(), of_shards.end());
  }
  return Plan::make(nullptr, options, ranks);
}

// Fills ranks and tries all plans by turns. Each is exponentially faster than the other one
// somewhere, and begins anew with more steps. So a check takes what the search took, whatever its
// limit.
// Thread safety: one thread at a time. Refers to its arguments and to a counter of work.
class PlanSearch {
 public:
  PlanSearch(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
             std::vector<RankPriceSet> prices, std::uint64_t& work,
             const std::function<bool()>& is_stopped)
      : space_(space),
        available_(available),
        goal_(goal),
        prices_(std::move(prices)),
        work_(work),
        is_stopped_(is_stopped),
        tables_(all_choices(space, available, goal)),
        may_fill_(goal.below && goal.held == nullptr && !space.problem().rules().any()) {
    found_.below = goal.below.value_or(0);
  }

  FoundPlan run() {
    // Filling comes first where every rank counts by itself, which leaves few alike.
    const bool is_tree_first = goal_.within == nullptr || !goal_.within->has_even_shards;
    for (std::size_t i = is_tree_first ? 1 : 0; i < kTurns.size() && may_fill_ && goes_on(); ++i) {
      const std::uint64_t begin = work_;
      work_ = std::min(begin, kTurns[i].most_steps);
      const std::uint64_t later = begin - work_;
      kTurns[i].fills ? fill_ranks() : try_all(later == 0);
      work_ = was_stopped() ? 0 : work_ + later;
    }
    if (goes_on()) try_all(true);
    return std::move(found_);
  }

 private:
  using Answer = FoundPlan::Answer;
  struct Turn {
    bool fills;
    std::uint64_t most_steps;
  };
  static constexpr std::array kTurns{
      Turn{true, std::uint64_t{1} << 16}, Turn{false, std::uint64_t{1} << 15},
      Turn{true, std::uint64_t{1} << 17}, Turn{false, std::uint64_t{1} << 20},
      Turn{true, std::uint64_t{1} << 20},
  };

  bool was_stopped() const { return work_ == 0 && is_stopped_ && is_stopped_(); }

  bool goes_on() const { return !is_over_ && work_ > 0; }

  // There is no other turn if there are too many placements, or if the prices leave much of a rank
  // empty.
  void fill_ranks() {
    StepLimit limit(work_, is_stopped_);
    if (!placements_) {
      ranks_ = traits_of(space_, available_);
      placements_ = TablePlacements::make(tables_, ranks_, available_.local_world_size(),
                                          prices_.front(), *goal_.below, limit);
    }
    may_fill_ = placements_.has_value();
    while (may_fill_ && !is_over_) {
      RankFilling filling(*placements_, ranks_, prices_.front(), found_.below, limit);
      may_fill_ = filling.is_promising();
      if (!may_fill_) return;
      const RankFilling::Answer answer = filling.run();
      if (answer == RankFilling::Answer::kNoneExists) return end(Answer::kNoneExists);
      if (answer == RankFilling::Answer::kGivenUp || !placements_->is_exact()) return;
      found_.plan = plan_of(space_, *placements_, filling.placement_of());
      found_.below = std::min(found_.below, filling.rating() * (1 - goal_.improvement));
      if (goal_.improvement == 0) end(Answer::kFound);
    }
  }

  // `is_last`: nothing comes after it.
  void try_all(bool is_last) {
    PlanGoal goal = goal_;
    if (goal.below) goal.below = found_.below;
    StepLimit limit(work_, is_stopped_);
    AllPlans plans(space_, available_, goal, is_last ? std::move(tables_) : tables_,
                   is_last ? std::move(prices_) : prices_, limit);
    plans.run();
    if (plans.found()) found_.plan = plans.found();
    found_.below = plans.target();
    if (plans.found() && goal_.improvement == 0) return end(Answer::kFound);
    if (work_ > 0) end(Answer::kNoneExists);
  }

  void end(Answer answer) {
    found_.answer = answer;
    is_over_ = true;
  }

  const SearchSpace& space_;
  const Topology& available_;
  const PlanGoal& goal_;
  std::vector<RankPriceSet> prices_;
  std::uint64_t& work_;
  const std::function<bool()>& is_stopped_;
  std::vector<ChoicesOfTable> tables_;
  std::vector<RankTraits> ranks_;
  std::optional<TablePlacements> placements_;
  bool may_fill_;  // without placement rules and moves
  FoundPlan found_;
  bool is_over_ = false;
};

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
  FoundPlan found = PlanSearch(space, available, goal, std::move(prices), work, is_stopped).run();
  if (found.plan && work == 0) found.answer = Answer::kFound;
  found.steps = work_limit - work;
  return found;
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
