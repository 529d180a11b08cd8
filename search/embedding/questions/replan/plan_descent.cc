// PlanBlend's steps of single shards.
#include <utility>

#include "search/embedding/questions/replan/plan_blend.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::PartitionBy;
using embedding::PlanLoads;
using embedding::Rank;

// Updates of ranks that one descent may take.
constexpr std::size_t kMostDescentUpdates = 5'000'000;

// A shard that may be on any rank.
struct FreeShard {
  std::size_t position = 0;
  std::uint32_t shard = 0;
  Rank rank = 0;
};

std::vector<FreeShard> free_shards(const embedding::Problem& problem, const Assignments& at) {
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

// Whether the assignment has a shard on the rank.
bool is_on(const Assignment& assignment, Rank rank) {
  for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
    if (assignment.rank(shard) == rank) return true;
  }
  return false;
}

Assignment with_shard_on(const Assignment& assignment, std::uint32_t shard, Rank rank) {
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < assignment.option->num_shards(); ++i)
    ranks.push_back(i == shard ? rank : assignment.rank(i));
  return {assignment.option, SharedArray<Rank>(std::span<const Rank>(ranks))};
}

// The rank that is most overfull, or else the slowest.
Rank worst_rank(const PlanLoads& loads) {
  Rank worst = 0;
  for (Rank rank = 1; rank < loads.world_size(); ++rank) {
    if (std::pair(loads.excess_bytes(rank), loads.rating(rank)) >
        std::pair(loads.excess_bytes(worst), loads.rating(worst))) {
      worst = rank;
    }
  }
  return worst;
}

}  // namespace

PlanBlend::Change PlanBlend::change_to(std::size_t position, Assignment to) const {
  const std::int64_t moved = moved_bytes(to);
  return {position, std::move(to), moved};
}

void PlanBlend::apply(State& state, const Step& step) {
  for (const Change& change : step) {
    state.loads.remove(state.at[change.position]);
    state.moved += change.moved - state.moved_before[change.position];
    state.moved_before[change.position] = change.moved;
    state.at[change.position] = change.to;
    state.loads.add(change.to);
  }
}

PlanBlend::Badness PlanBlend::after(State& state, const Step& step) const {
  Step back;
  for (const Change& change : step)
    back.push_back(
        {change.position, state.at[change.position], state.moved_before[change.position]});
  apply(state, step);
  const Badness result = badness(state);
  apply(state, back);
  return result;
}

std::vector<PlanBlend::Step> PlanBlend::steps_off(const State& state, Rank rank,
                                                  const Assignments& toward) const {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < state.at.size(); ++i) {
    if (toward[i].option != state.at[i].option && is_on(state.at[i], rank))
      steps.push_back({change_to(i, toward[i])});
  }
  const std::vector<FreeShard> shards = free_shards(*problem_, state.at);
  std::vector<Change> to_rank;  // of every free shard
  for (const FreeShard& shard : shards) {
    to_rank.push_back(
        change_to(shard.position, with_shard_on(state.at[shard.position], shard.shard, rank)));
  }
  for (const FreeShard& own : shards) {
    if (own.rank != rank) continue;
    std::vector<Change> away;  // by rank
    for (Rank target = 0; target < available_->world_size(); ++target) {
      away.push_back(
          change_to(own.position, with_shard_on(state.at[own.position], own.shard, target)));
      if (target != rank) steps.push_back({away.back()});
    }
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (shards[i].rank == rank || shards[i].position == own.position) continue;
      steps.push_back({away[shards[i].rank], to_rank[i]});
    }
  }
  return steps;
}

void PlanBlend::descend(Assignments from, const Assignments& toward, double dearer) {
  State state{std::move(from), PlanLoads(*problem_, *available_), {}, {}, 0, weight_ * dearer};
  for (const Assignment& assignment : state.at) {
    state.loads.add(assignment);
    state.moved_before.push_back(moved_bytes(assignment));
    state.moved += state.moved_before.back();
  }
  Badness now = badness(state);
  for (std::size_t updates = 0; updates < kMostDescentUpdates;) {
    const Rank worst = worst_rank(state.loads);
    const Step* best = nullptr;
    Badness least = now;
    const std::vector<Step> steps = steps_off(state, worst, toward);
    updates += (steps.size() + 1) * available_->world_size();
    if (updates >= kMostDescentUpdates) break;
    for (const Step& step : steps) {
      const Badness then = after(state, step);
      if (!precedes(then, least)) continue;
      least = then;
      best = &step;
    }
    if (best == nullptr) break;
    apply(state, *best);
    now = least;
  }
  consider_state(state);
}

}  // namespace shardwright
