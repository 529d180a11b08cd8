// What every rank holds and does under a plan that is changed table by table.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright {

// Sums in the order of changes: ratings are near those of the verifier, not equal to them.
// Keeps references. Thread safety: one thread at a time.
class RankTally {
 public:
  RankTally(const embedding::Problem& problem, const embedding::Topology& available);

  // Precondition: ranks that exist. O(shards).
  void add(const embedding::Assignment& assignment) { change(assignment, 1); }
  void remove(const embedding::Assignment& assignment) { change(assignment, -1); }

  void add(embedding::Rank rank, const embedding::ShardCost& cost) { change(rank, cost, 1); }
  void remove(embedding::Rank rank, const embedding::ShardCost& cost) { change(rank, cost, -1); }

  // What the rank counts in the rating, and by how many bytes it is too full.
  double value(embedding::Rank rank) const;
  std::int64_t excess_bytes(embedding::Rank rank) const;
  const embedding::Storage& used(embedding::Rank rank) const { return used_[rank]; }

  // Over all ranks. O(ranks).
  double rating() const;
  std::int64_t excess_bytes() const;

 private:
  void change(const embedding::Assignment& assignment, int sign);
  void change(embedding::Rank rank, const embedding::ShardCost& cost, int sign);

  const embedding::Problem* problem_;
  const embedding::Topology* available_;
  bool by_time_;
  std::vector<double> ms_;
  std::vector<embedding::Storage> used_;
};

}  // namespace shardwright
