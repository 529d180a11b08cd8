// Evaluates greedy proposals one after the other. This is the innermost loop of the compat search,
// called through the interface that explore() uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "perf/support/search.h"

namespace shardwright::perf {

// The sharding types that the tables of a workload may use. The types differ in the cost of a
// proposal.
enum class Mix { kTableWise, kTableRowWise, kRowWise, kDefault };

inline embedding::ShardingType sharding_type_of(Mix mix) {
  if (mix == Mix::kTableWise) return embedding::ShardingType::kTableWise;
  if (mix == Mix::kTableRowWise) return embedding::ShardingType::kTableRowWise;
  return embedding::ShardingType::kRowWise;
}

// The first `tables` tables of the largest workload, on `ranks` ranks. Tables may use only the
// types of `mix`, and the only proposer is greedy.
inline Workload mix_workload(Mix mix, std::size_t tables, std::int64_t ranks) {
  const Workload all = require(load_workload("ads_bootstrap_5384t@" + std::to_string(ranks)));
  return require(with_spec(all, [&](embedding::ProblemSpec& spec) {
    spec.tables.resize(tables);
    spec.proposers = {embedding::ProposerSpec()};
    if (mix == Mix::kDefault) return;
    for (embedding::Table& table : spec.tables) {
      if (!table.constraints) table.constraints.emplace();
      table.constraints->sharding_types = {sharding_type_of(mix)};
    }
  }));
}

// The first proposals of a search. They place at most about `placed_shards` shards.
class ProposalWalk {
 public:
  ProposalWalk(const Workload& workload, std::uint64_t placed_shards)
      : pool_(enumerate_inline(workload)),
        search_(pool_, require(embedding::reserve(*workload.problem)).topology, 1, false),
        budget_(placed_shards, {}),
        size_(search_.propose(0, budget_)) {}

  // Partitions and rates every proposal of the walk.
  void evaluate_all() { search_.evaluate(0, 0, 0, size_, budget_); }

  std::size_t size() const { return size_; }
  // Passes the results to the proposer, which ends the walk. Returns the number of shards that one
  // evaluate_all() places, at least 1.
  std::uint64_t finish() {
    search_.synchronize(0, budget_);
    return std::max<std::uint64_t>(budget_.work_done(), 1);
  }

 private:
  embedding::OptionPool pool_;
  embedding::EmbeddingSearch search_;
  Budget budget_;
  std::size_t size_;
};

}  // namespace shardwright::perf
