// The independent verifier: computes what a plan uses and costs in the most direct way.
#pragma once

#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// Why a plan is not valid. `message` is one sentence that names the table, shard or rank.
struct Violation {
  enum class Kind : unsigned char {
    kUnknownTable,  // the problem has no such table
    kMissingTable,
    kDuplicateTable,
    kWrongShardCount,  // the numbers of shards, costs and ranks differ
    kNoSuchRank,
    kWrongPlacement,  // the sharding type does not allow these ranks
    kNotCovering,     // shards do not tile the table: a gap, an overlap, a wrong width
    kOutOfMemory,
    kBadCost,              // a cost is negative or not finite
    kPlacementConstraint,  // the user's constraints do not allow these ranks
  };
  Kind kind;
  std::string message;
};

// What a plan uses and costs, rank by rank.
struct Evaluation {
  double rating = 0;  // ms (perf model) or bytes (storage model); smaller is better
  // Times are sums over shards, multiplied by the rank's measured factor where calibration has one.
  std::vector<double> perf_ms_by_rank;
  std::vector<Perf> perf_parts_by_rank;
  std::vector<Storage> storage_by_rank;
  std::vector<Violation> violations;

  bool valid() const { return violations.empty(); }
};

// Recomputes everything from the options of the plan and uses no code of the search. `available` is
// the topology after reservation and margin. Times are summed in proposal order, shard by shard.
// The figures are meaningful only if the evaluation is valid().
// Cost: O(shards), and O(shards log shards) for a layout of many columns. Source of the rating:
// torchrec/distributed/planner/perf_models.py.
Evaluation evaluate(const Problem& problem, const Topology& available, const Plan& plan);

}  // namespace shardwright::embedding
