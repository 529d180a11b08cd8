// TorchRec's planner loop, written from its rules: plain vectors, linear scans, no sharing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::test_support::naive {

// One option per table, in proposal order.
using Proposal = std::vector<const embedding::ShardingOption*>;

// `ranks` has the rank of every shard by option of the proposal.
struct Placed {
  bool feasible = false;
  double rating = 0;
  std::vector<std::vector<embedding::Rank>> ranks;  // empty unless feasible
};

// Partitions and rates a proposal with the problem's partitioner and perf model. Source:
// torchrec/distributed/planner/partitioners.py and perf_models.py.
Placed place(const embedding::Problem& problem, const embedding::Topology& available,
             const Proposal& proposal);

struct Record {
  std::size_t proposer = 0;
  std::vector<std::size_t> options;  // indices into the options of the space
  bool cached = false;
  Placed placed;  // ranks are empty if `cached`
};

struct Outcome {
  std::vector<Record> proposals;
  std::size_t num_proposals = 0;  // without the cached ones
  std::size_t num_plans = 0;
  double best_rating = 0;
  std::optional<std::size_t> best;  // index into proposals
  std::optional<embedding::Storage> lowest_failed;
};

// Runs the problem's proposers one after the other. Precondition: none of them is a scale-up
// proposer. Source: EmbeddingShardingPlanner.plan, torchrec/distributed/planner/planners.py.
Outcome plan(const embedding::SearchSpace& space, const embedding::Topology& available);

// Returns the proposals of a proposer. Precondition: the proposer needs no feedback.
std::vector<std::vector<std::size_t>> proposals(const embedding::SearchSpace& space,
                                                const embedding::Topology& available,
                                                const embedding::ProposerSpec& spec);

// Sums over all shards, computed one shard at a time.
embedding::Storage total_storage(const embedding::ShardingOption& option);
double total_perf(const embedding::ShardingOption& option);

}  // namespace shardwright::test_support::naive
