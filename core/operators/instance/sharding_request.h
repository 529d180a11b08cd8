// XLA's form of the operator-sharding problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"

namespace shardwright::operators {

// Costs of at least this value are infinite. Source: XLA's kInfinityCost.
inline constexpr double kInfiniteFrom = 1e19;

// A request of XLA's auto-sharding solver. Outer indices are nodes, edges, aliases or time points;
// inner indices are strategies. Pairs of strategies are row-major.
struct ShardingRequest {
  struct Pair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };
  std::vector<std::string> names;  // by node; may be empty
  std::vector<std::vector<double>> computation;
  std::vector<std::vector<double>> communication;
  std::vector<std::vector<double>> memory;      // bytes
  std::vector<std::vector<double>> departures;  // may be empty
  std::vector<std::optional<std::uint32_t>> follows;
  std::vector<Pair> edges;
  std::vector<std::vector<double>> resharding;
  std::vector<Pair> aliases;
  std::vector<std::vector<double>> incompatible;  // above 0.5: pair is not allowed
  std::vector<std::vector<std::uint32_t>> live;   // nodes by time point
  std::vector<std::vector<std::uint32_t>> live_edges;
  std::vector<std::vector<double>> edge_memory;  // bytes; may be empty
  double memory_budget = 0;                      // bytes; no budget if not positive
  // Cost per byte above the budget; if absent, the budget is a hard limit.
  std::optional<double> overbudget_coefficient;
  std::optional<double> max_departures;
  std::optional<double> max_cost;

  std::size_t num_nodes() const { return computation.size(); }
  // Returns the row-major index of the pair of strategies that an edge takes.
  std::size_t edge_strategy(std::size_t edge, std::span<const std::uint32_t> choice) const {
    const std::size_t columns = computation[edges[edge].second].size();
    return choice[edges[edge].first] * columns + choice[edges[edge].second];
  }
};

// Checks that all lists have the right sizes, all indices exist and no number is negative.
// Errors: kInvalidInput; the place uses the request's JSON keys.
Status check(const ShardingRequest& request);

// If the largest finite cost exceeds `coefficient_limit`, divides all finite costs by the ratio of
// these two numbers and rounds down. Source: XLA auto_sharding_solver, ScaleRequest.
ShardingRequest scale(ShardingRequest request, double coefficient_limit);

// Merges followers. An edge that holds memory becomes a node, incompatible aliases become forbidden
// pairs, and departures get their own time point after those of memory. Fractions of bytes are
// rounded up. Errors: those of check() and LoweredInstance::make.
Result<OperatorProblem> lower(const ShardingRequest& request);

}  // namespace shardwright::operators
