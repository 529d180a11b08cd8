// Finds reshard paths and remembers them.
#pragma once

#include <cstddef>
#include <memory>

#include "core/operators/mesh/sharding_spec.h"
#include "search/operators/reshard/reshard_path.h"

namespace shardwright::operators {

// Searches once per (shape, source, target).
// Thread safety: const members and path() may be called from any thread.
class ReshardPlanner {
 public:
  // The table must outlive the planner.
  ReshardPlanner(SpecTable& table, PathCost mode);
  ~ReshardPlanner();
  ReshardPlanner(const ReshardPlanner&) = delete;
  ReshardPlanner& operator=(const ReshardPlanner&) = delete;

  // Precondition: both specs belong to the table and have one shape. The path lives as long as the
  // planner. Once it is known, O(1) and without a lock.
  const ReshardPath& path(const ShardingSpec* from, const ShardingSpec* to);
  // The total cost of that path. Equal specs cost nothing and need no search.
  double cost(const ShardingSpec* from, const ShardingSpec* to) {
    return from == to ? 0 : path(from, to).cost.total;
  }

  // The number of paths found by a search, each counted once. Threads that ask for the same new
  // path at once may all search, but one result is kept.
  std::size_t num_searches() const;

 private:
  class Memo;
  SpecTable* table_;
  PathCost mode_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace shardwright::operators
