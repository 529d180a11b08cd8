// XLA's form of the operator-sharding problem: what it asks for, what an answer costs, and how it
// becomes a cost instance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/instance/lowered_instance.h"
#include "core/status.h"

namespace shardwright::operators {

// Costs from here on are infinite. Source: XLA's kInfinityCost.
inline constexpr double kInfiniteFrom = 1e19;

// A request of XLA's auto-sharding solver. Outer indices are nodes, edges, aliases or time points,
// inner ones strategies; pairs are row-major.
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
  std::vector<std::vector<double>> incompatible;  // above 0.5: these two may not be combined
  std::vector<std::vector<std::uint32_t>> live;   // nodes by time point
  std::vector<std::vector<std::uint32_t>> live_edges;
  std::vector<std::vector<double>> edge_memory;  // bytes; may be empty
  double memory_budget = 0;                      // bytes; not above zero: none
  std::optional<double>
      overbudget_coefficient;  // the budget may be exceeded at this price per byte
  std::optional<double> max_departures;
  std::optional<double> max_cost;

  std::size_t num_nodes() const { return computation.size(); }
  // The strategy that an edge takes.
  std::size_t edge_strategy(std::size_t edge, std::span<const std::uint32_t> choice) const {
    const std::size_t columns = computation[edges[edge].second].size();
    return choice[edges[edge].first] * columns + choice[edges[edge].second];
  }
};

// All lists have the sizes that they must have, all indices exist, all numbers are none below zero.
// Errors: kInvalidInput with the place in terms of the request's JSON keys.
Status check(const ShardingRequest& request);

enum class RequestViolation : std::uint8_t {
  kAlias,
  kFollower,
  kInfiniteCost,
  kMemory,
  kMaxDepartures,
};
// "alias", "follower", "infinite_cost", "memory", "max_departures".
const char* name_of(RequestViolation violation);

struct CostBreakdown {
  double computation = 0;
  double communication = 0;
  double resharding = 0;
  double overbudget = 0;
  double total() const { return computation + communication + resharding + overbudget; }
};

struct RequestEvaluation {
  std::vector<RequestViolation> violations;  // each once, in the order of the enumeration
  CostBreakdown cost;
  CostBreakdown lower_bound;  // the least of every list by itself
  double departures = 0;
  double peak_bytes = 0;
  std::vector<std::uint32_t> edge_strategies;
};

// Preconditions: check(request) is ok; one strategy in range per node.
// Source: XLA auto_sharding_solver, Evaluate.
RequestEvaluation evaluate(const ShardingRequest& request, std::span<const std::uint32_t> choice);

// What makes `worse` worse than `better`, a sentence each: by node the changed strategy, then
// dearer communication and computation; then dearer edges. Preconditions as for evaluate. Source:
// XLA auto_sharding_solver, Rationalize.
std::vector<std::string> rationalize(const ShardingRequest& request,
                                     std::span<const std::uint32_t> better,
                                     std::span<const std::uint32_t> worse);

// Where the largest finite cost exceeds `coefficient_limit`, all finite costs are divided by their
// ratio and rounded down. Source: XLA auto_sharding_solver, ScaleRequest.
ShardingRequest scale(ShardingRequest request, double coefficient_limit);

// Followers are merged; edges that hold memory become nodes; incompatible aliases are forbidden
// pairs; departures are a time point of their own, behind those of memory. Fractions of bytes are
// rounded up. Errors: as check and LoweredInstance::make.
Result<OperatorProblem> lower(const ShardingRequest& request);

}  // namespace shardwright::operators
