// A run of greedy proposals over a workload, evaluated one after the other: the innermost loop of
// every search, through the interface that explore() uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "perf/support/search.h"

namespace shardwright::perf {

// Kinds of proposals with different costs.
enum class Mix { kTableWise, kTableRowWise, kRowWise, kDefault };

inline embedding::ShardingType sharding_type_of(Mix mix) {
  if (mix == Mix::kTableWise) return embedding::ShardingType::kTableWise;
  if (mix == Mix::kTableRowWise) return embedding::ShardingType::kTableRowWise;
  return embedding::ShardingType::kRowWise;
}

// `tables` tables of the largest workload on `ranks` ranks, restricted to `mix`, under one greedy
// proposer.
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

// The first proposals of a search, up to about `placed_shards` shards.
class ProposalWalk {
 public:
  ProposalWalk(const Workload& workload, std::uint64_t placed_shards)
      : pool_(enumerate_inline(workload)),
        search_(pool_, require(embedding::reserve(*workload.problem)).topology, 1, false),
        budget_(placed_shards, {}),
        size_(search_.propose(0, budget_)) {}

  // Partitions and rates every proposal of the run.
  void evaluate_all() { search_.evaluate(0, 0, 0, size_, budget_); }

  std::size_t size() const { return size_; }
  // Takes the results in, which ends the walk. Returns the number of shards that one evaluate_all()
  // places.
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
