// Reshard paths, each found once.
#pragma once

#include <cstddef>
#include <memory>

#include "core/operators/mesh/sharding_spec.h"
#include "search/operators/reshard/reshard_path.h"

namespace shardwright::operators {

// Finds paths and remembers them: one search per (shape, source, target).
// Thread safety: const members and path() may be called from any thread.
class ReshardPlanner {
 public:
  // The table must outlive the planner.
  ReshardPlanner(SpecTable& table, PathCost mode);
  ~ReshardPlanner();
  ReshardPlanner(const ReshardPlanner&) = delete;
  ReshardPlanner& operator=(const ReshardPlanner&) = delete;

  // Precondition: both specs belong to the table and have one shape. The path lives as long as the
  // planner. O(1), without a lock, once known.
  const ReshardPath& path(const ShardingSpec* from, const ShardingSpec* to);
  // Total cost of that path. Equal specs cost nothing and are no search.
  double cost(const ShardingSpec* from, const ShardingSpec* to) {
    return from == to ? 0 : path(from, to).cost.total;
  }

  // Questions answered by a search, each counted once. Where several threads ask a new question at
  // the same time each may search, but one answer is kept.
  std::size_t num_searches() const;

 private:
  class Memo;
  SpecTable* table_;
  PathCost mode_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace shardwright::operators
