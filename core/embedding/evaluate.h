// The independent verifier: the slow, obvious computation of what a plan uses and costs.
#pragma once

#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// A rule that a plan breaks, as one sentence.
struct Violation {
  enum class Kind : unsigned char {
    kUnknownTable,  // not a table of the problem
    kMissingTable,
    kDuplicateTable,
    kWrongShardCount,  // of ranks, or of costs beside shards
    kNoSuchRank,
    kWrongPlacement,  // not where the sharding type must be
    kNotCovering,     // shards do not tile the table: a gap, an overlap, a wrong width
    kOutOfMemory,
    kBadCost,  // a component is negative or not finite
    kBrokenRule,  // a placement constraint of the user
  };
  Kind kind;
  std::string message;
};

// What a plan uses and costs, rank by rank.
struct Evaluation {
  double rating = 0;  // ms (perf model) or bytes (storage model), the smaller the better
  // Times are multiplied by what the user measured of the rank, after summing.
  std::vector<double> perf_ms_by_rank;
  std::vector<Perf> perf_parts_by_rank;
  std::vector<Storage> storage_by_rank;
  std::vector<Violation> violations;

  bool valid() const { return violations.empty(); }
};

// Recomputes everything from the options of the plan; knows nothing of the search. `available` is
// the topology after reservation and margin. Times are summed in proposal order, shard by shard.
// Cost: O(shards), and O(shards log shards) for a layout of many columns. Source of the rating:
// torchrec/distributed/planner/perf_models.py.
Evaluation evaluate(const Problem& problem, const Topology& available, const Plan& plan);

}  // namespace shardwright::embedding
