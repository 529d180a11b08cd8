#include "search/embedding/questions/replan/blend/plan_descent.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/embedding/questions/replan/blend/plan_state.h"

namespace shardwright::embedding {
namespace {

// Updates of ranks and shards that one descent may make.
constexpr std::size_t kMostDescentUpdates = 4'000'000;

// A shard that may be on any rank.
struct FreeShard {
  std::size_t position = 0;
  std::uint32_t shard = 0;
  Rank rank = 0;
};

std::vector<FreeShard> free_shards(const Problem& problem, const PlanState& at) {
  std::vector<FreeShard> shards;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i].option->partition_by() != PartitionBy::kDevice ||
        problem.rules().constrains(at[i].option->table)) {
      continue;
    }
    for (std::uint32_t shard = 0; shard < at[i].option->num_shards(); ++shard)
      shards.push_back({i, shard, at[i].rank(shard)});
  }
  return shards;
}

bool has_shard_on(const Assignment& assignment, Rank rank) {
  for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
    if (assignment.rank(shard) == rank) return true;
  }
  return false;
}

// The fullest rank if any is overfull, otherwise the slowest.
Rank worst_rank(const PlanLoads& loads, std::uint32_t world_size) {
  Rank worst = 0;
  for (Rank rank = 1; rank < world_size; ++rank) {
    if (std::pair(loads.excess_bytes(rank), loads.rating(rank)) >
        std::pair(loads.excess_bytes(worst), loads.rating(worst))) {
      worst = rank;
    }
  }
  return worst;
}

// Makes the steps that unload a rank, and counts the updates that making and trying them takes.
// Thread safety: one thread at a time. Refers to its arguments.
class StepsOff {
 public:
  StepsOff(const PlanState& state, const PlanCosts& costs, const Budget& budget,
           std::size_t& updates)
      : state_(state), costs_(costs), budget_(budget), updates_(updates) {}

  // All steps off `rank`. Incomplete if the budget is interrupted or there are too many updates.
  std::vector<PlanStep> of(Rank rank, const Plan& toward) {
    std::vector<PlanStep> steps;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (toward[i].option == state_[i].option || !has_shard_on(state_[i], rank)) continue;
      steps.push_back({state_.change_to(i, toward[i])});
      count(toward[i]);
    }
    const std::vector<FreeShard> shards = free_shards(costs_.problem(), state_);
    std::vector<TableChange> to_rank;  // of every free shard
    to_rank.reserve(shards.size());
    for (const FreeShard& shard : shards) {
      if (is_over()) return steps;
      to_rank.push_back(move(shard, rank));
    }
    for (const FreeShard& own : shards) {
      if (own.rank != rank) continue;
      std::vector<TableChange> away;  // by rank
      for (Rank target = 0; target < costs_.available().world_size(); ++target) {
        if (is_over()) return steps;
        away.push_back(move(own, target));
        if (target != rank) steps.push_back({away.back()});
      }
      for (std::size_t i = 0; i < shards.size(); ++i) {
        if (shards[i].rank == rank || shards[i].position == own.position) continue;
        if (is_over()) return steps;
        steps.push_back({away[shards[i].rank], to_rank[i]});
        count(to_rank[i].to);
        count(state_[own.position]);
      }
    }
    return steps;
  }

 private:
  bool is_over() const { return updates_ >= kMostDescentUpdates || budget_.interrupted(); }
  void count(const Assignment& changed) {
    updates_ += changed.option->num_shards() + costs_.available().world_size();
  }
  TableChange move(const FreeShard& shard, Rank to) {
    count(state_[shard.position]);
    return state_.move_shard(shard.position, shard.shard, to);
  }

  const PlanState& state_;
  const PlanCosts& costs_;
  const Budget& budget_;
  std::size_t& updates_;
};

}  // namespace

void descend(const Plan& from, const Plan& toward, double weight_factor, BlendIncumbent& incumbent,
             Budget& budget) {
  const PlanCosts costs = incumbent.costs().with_weight(incumbent.costs().weight() * weight_factor);
  const std::uint32_t world = costs.available().world_size();
  PlanState state(from, costs);
  PlanCost now = state.cost();
  std::size_t updates = 0;
  while (updates < kMostDescentUpdates && !budget.interrupted()) {
    updates += world;
    const std::vector<PlanStep> steps =
        StepsOff(state, costs, budget, updates).of(worst_rank(state.loads(), world), toward);
    if (updates >= kMostDescentUpdates) break;
    const PlanStep* best = nullptr;
    PlanCost least = now;
    for (const PlanStep& step : steps) {
      const PlanCost then = state.cost_after(step);
      if (!precedes(then, least)) continue;
      least = then;
      best = &step;
    }
    if (best == nullptr) break;
    state.apply(*best);
    now = least;
  }
  budget.spend(updates);
  incumbent.consider(state);
}

}  // namespace shardwright::embedding
