#include "search/experts/moves.h"

#include <algorithm>
#include <utility>

#include "core/numeric/assignment.h"

namespace shardwright::experts {
namespace {

// Counts slots whose expert is in the unit's old slots.
std::size_t kept(const Expert* slots, const Expert* old, std::size_t size) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i)
    count += std::find(old, old + size, slots[i]) == old + size ? 0U : 1U;
  return count;
}

// Numbers units (nodes or GPUs) anew, so that most slots are kept.
// Many units keep their numbers, because the assignment takes O(units^3).
constexpr std::size_t kMostUnits = 512;

std::vector<Expert> renumber(const Expert* slots, const Expert* old, std::size_t units,
                             std::size_t size) {
  if (units > kMostUnits) return {slots, slots + units * size};
  std::vector<double> cost(units * units);  // fewer kept slots cost more
  for (std::size_t from = 0; from < units; ++from) {
    for (std::size_t to = 0; to < units; ++to)
      cost[from * units + to] =
          -static_cast<double>(kept(slots + from * size, old + to * size, size));
  }
  const std::vector<std::uint32_t> numbers = cheapest_assignment(
      static_cast<std::uint32_t>(units),
      [&](std::uint32_t from, std::uint32_t to) { return cost[from * units + to]; });
  std::vector<Expert> result(units * size);
  for (std::size_t unit = 0; unit < units; ++unit)
    std::copy(slots + unit * size, slots + (unit + 1) * size,
              result.begin() + static_cast<std::ptrdiff_t>(numbers[unit] * size));
  return result;
}

}  // namespace

void keep_slots(const ExpertProblem& problem, Expert* slots, const Expert* old) {
  const std::size_t size = problem.slots_per_gpu();
  std::vector<Expert> come;
  for (std::size_t first = 0; first < problem.num_slots(); first += size) {
    come.assign(slots + first, slots + first + size);
    std::vector<bool> taken(size, false);
    for (std::size_t i = 0; i < size; ++i) {
      const auto stays = std::find(come.begin(), come.end(), old[first + i]);
      if (stays == come.end()) continue;
      slots[first + i] = old[first + i];
      taken[i] = true;
      come.erase(stays);
    }
    for (std::size_t i = 0, next = 0; i < size; ++i) {
      if (!taken[i]) slots[first + i] = come[next++];
    }
  }
}

std::vector<Expert> align(const ExpertProblem& problem, const std::vector<Expert>& slots,
                          const Expert* old) {
  std::vector<Expert> result = slots;
  if (problem.spec().gpu_speeds.empty()) {
    const std::size_t nodes = problem.keeps_groups() ? problem.num_nodes() : 1;
    const std::size_t gpus = problem.num_gpus() / nodes;
    const std::size_t per_node = problem.num_slots() / nodes;
    result = renumber(slots.data(), old, nodes, per_node);
    for (std::size_t first = 0; first < result.size(); first += per_node) {
      const std::vector<Expert> node =
          renumber(result.data() + first, old + first, gpus, problem.slots_per_gpu());
      std::copy(node.begin(), node.end(), result.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  keep_slots(problem, result.data(), old);
  return result;
}

std::vector<LayerPoint> convex_front(std::vector<LayerPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const LayerPoint& a, const LayerPoint& b) {
    return a.moves != b.moves ? a.moves < b.moves : a.time < b.time;
  });
  std::vector<LayerPoint> front;
  for (LayerPoint& point : points) {
    if (!front.empty() && (point.moves == front.back().moves || point.time >= front.back().time))
      continue;
    // Time that a move buys between two points.
    const auto gain = [](const LayerPoint& from, const LayerPoint& to) {
      return (from.time - to.time) / static_cast<double>(to.moves - from.moves);
    };
    while (front.size() > 1 &&
           gain(front[front.size() - 2], front.back()) <= gain(front.back(), point))
      front.pop_back();
    front.push_back(std::move(point));
  }
  return front;
}

std::vector<std::size_t> choose_points(const std::vector<std::vector<LayerPoint>>& fronts,
                                       const PlanRules& rules, std::vector<MovesPoint>& front) {
  struct Step {
    double gain = 0;  // per move
    std::size_t layer = 0;
    std::size_t point = 0;
  };
  std::vector<Step> steps;
  MovesPoint sum;
  for (std::size_t layer = 0; layer < fronts.size(); ++layer) {
    const std::vector<LayerPoint>& points = fronts[layer];
    sum.moves += points[0].moves;
    sum.time += points[0].time;
    for (std::size_t i = 1; i < points.size(); ++i)
      steps.push_back({(points[i - 1].time - points[i].time) /
                           static_cast<double>(points[i].moves - points[i - 1].moves),
                       layer, i});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.gain > b.gain; });
  front.assign(1, sum);
  std::vector<std::size_t> chosen(fronts.size(), 0);
  std::size_t moves = sum.moves;
  for (const Step& step : steps) {
    const LayerPoint& from = fronts[step.layer][step.point - 1];
    const LayerPoint& to = fronts[step.layer][step.point];
    front.push_back(
        {front.back().moves + to.moves - from.moves, front.back().time - (from.time - to.time)});
    const bool fits = !rules.max_moves || moves + to.moves - from.moves <= *rules.max_moves;
    if (chosen[step.layer] + 1 != step.point || !fits || step.gain <= rules.terms.migration_weight)
      continue;
    chosen[step.layer] = step.point;
    moves += to.moves - from.moves;
  }
  return chosen;
}

}  // namespace shardwright::experts
