// What a choice costs in XLA's form of the operator-sharding problem.
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
  std::vector<RequestViolation> violations;  // each once, in the order of the enumeration
  CostBreakdown cost;
  CostBreakdown lower_bound;  // the sum of the least of every list
  double departures = 0;
  double peak_bytes = 0;
  std::vector<std::uint32_t> edge_strategies;
};

// Preconditions: check(request) is ok; one strategy in range per node.
// Source: XLA auto_sharding_solver, Evaluate.
RequestEvaluation evaluate(const ShardingRequest& request, std::span<const std::uint32_t> choice);

// What makes `worse` worse than `better`, one sentence each: for every node the changed strategy,
// higher communication and higher computation; then for every edge higher resharding.
// Preconditions: as of evaluate(). Source: XLA auto_sharding_solver, Rationalize.
std::vector<std::string> rationalize(const ShardingRequest& request,
                                     std::span<const std::uint32_t> better,
                                     std::span<const std::uint32_t> worse);

}  // namespace shardwright::operators
