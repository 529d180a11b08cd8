// Evaluates a choice in XLA's form of the operator-sharding problem.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/operators/instance/sharding_request.h"

namespace shardwright::operators {

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
  std::vector<RequestViolation> violations;  // each at most once, in the order of the enumeration
  CostBreakdown cost;
  CostBreakdown lower_bound;  // sums of the smallest element of every cost list
  double departures = 0;
  double peak_bytes = 0;
  std::vector<std::uint32_t> edge_strategies;
};

// Preconditions: check(request) is ok; `choice` has one valid strategy per node. Source: XLA
// auto_sharding_solver, Evaluate.
RequestEvaluation evaluate(const ShardingRequest& request, std::span<const std::uint32_t> choice);

// Returns one sentence for each thing that makes `worse` worse than `better`. For every node: the
// changed strategy, higher communication, higher computation. Then for every edge: higher
// resharding. Preconditions: as of evaluate(). Source: XLA auto_sharding_solver, Rationalize.
std::vector<std::string> rationalize(const ShardingRequest& request,
                                     std::span<const std::uint32_t> better,
                                     std::span<const std::uint32_t> worse);

}  // namespace shardwright::operators
