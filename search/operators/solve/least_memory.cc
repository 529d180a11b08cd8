#include "search/operators/solve/least_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "search/operators/solve/solve.h"

namespace shardwright::operators {
namespace {

// The bytes that a node holds at a time point, by strategy.
std::vector<std::int64_t> held_by(const CostInstance& instance, std::size_t node,
                                  std::size_t time) {
  std::vector<std::int64_t> held(instance.num_strategies(node), 0);
  for (const CostInstance::Usage& usage : instance.usages(node)) {
    if (time < usage.live.begin || time >= usage.live.end) continue;
    for (std::uint32_t s = 0; s < held.size(); ++s)
      held[s] += instance.bytes(usage, s);
  }
  return held;
}

std::int64_t least_allowed(std::span<const double> costs, std::span<const std::int64_t> bytes) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    if (costs[s] < kForbidden) least = std::min(least, bytes[s]);
  }
  return least == std::numeric_limits<std::int64_t>::max() ? 0 : least;
}

// By time point, the sum over nodes of the least that a strategy holds.
std::vector<std::int64_t> least_sums(const CostInstance& instance, std::size_t num_time_points) {
  std::vector<std::int64_t> sums(num_time_points, 0);
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    std::size_t begin = num_time_points;
    std::size_t end = 0;
    for (const CostInstance::Usage& usage : instance.usages(n)) {
      begin = std::min<std::size_t>(begin, usage.live.begin);
      end = std::max<std::size_t>(end, usage.live.end);
    }
    for (std::size_t t = begin; t < std::min(end, num_time_points); ++t)
      sums[t] += least_allowed(instance.costs(n), held_by(instance, n, t));
  }
  return sums;
}

// The instance whose costs are the bytes held at one time point. Forbidden strategies and pairs
// stay forbidden.
Result<CostInstance> bytes_as_costs(const CostInstance& instance, std::size_t time) {
  CostInstanceSpec spec;
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    const std::span<const double> costs = instance.costs(n);
    const std::vector<std::int64_t> held = held_by(instance, n, time);
    CostInstanceSpec::Node& node = spec.nodes.emplace_back();
    for (std::size_t s = 0; s < costs.size(); ++s)
      node.costs.push_back(costs[s] < kForbidden ? static_cast<double>(held[s]) : kForbidden);
  }
  for (const CostInstance::Edge& edge : instance.edges()) {
    const std::span<const double> matrix = instance.matrix(edge);
    const auto forbidden = [](double cost) { return cost == kForbidden; };
    if (std::none_of(matrix.begin(), matrix.end(), forbidden)) continue;
    std::vector<double> entries(matrix.begin(), matrix.end());
    for (double& cost : entries)
      cost = forbidden(cost) ? kForbidden : 0;
    spec.edges.push_back(
        {edge.first, edge.second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back({instance.num_strategies(edge.first),
                             instance.num_strategies(edge.second), std::move(entries)});
  }
  return CostInstance::make(std::move(spec));
}

std::int64_t peak(const CostInstance& instance, std::span<const std::uint32_t> choice,
                  std::size_t num_time_points) {
  const std::vector<std::int64_t> held = held_bytes(instance, choice);
  return *std::max_element(held.begin(),
                           held.begin() + static_cast<std::ptrdiff_t>(num_time_points));
}

}  // namespace

LeastMemory least_memory(const CostInstance& instance, std::size_t num_time_points,
                         Executor& executor, Budget& budget) {
  LeastMemory least;
  if (num_time_points == 0) return least;
  const std::vector<std::int64_t> sums = least_sums(instance, num_time_points);
  const auto worst = std::max_element(sums.begin(), sums.end());
  least.bytes = *worst;
  const Result<CostInstance> relaxed =
      bytes_as_costs(instance, static_cast<std::size_t>(worst - sums.begin()));
  if (!relaxed.ok()) return least;
  const SolveResult found = solve(*relaxed, executor, budget);
  least.impossible = found.status == SolveStatus::kInfeasible;
  if (found.choice.empty()) return least;
  const std::int64_t reached = peak(instance, found.choice, num_time_points);
  if (found.status == SolveStatus::kOptimal && num_time_points == 1) {
    least.bytes = reached;
  } else {
    // Rounding must not raise the bound.
    constexpr double kExactBelow = 0x1p53;
    const double bound = std::floor(found.lower_bound * (1 - 0x1p-50));
    if (bound < kExactBelow) least.bytes = std::max(least.bytes, static_cast<std::int64_t>(bound));
  }
  least.reached = reached == least.bytes;
  least.enough = reached;
  return least;
}

}  // namespace shardwright::operators
