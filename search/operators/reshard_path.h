// How to convert a tensor from one sharding spec to another, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/operators/sharding_spec.h"
#include "search/operators/alpha_beta.h"

namespace shardwright::operators {

enum class ReshardPattern : std::uint8_t { kAllGather, kAllToAll, kShard };

// One conversion: gathers `gather_dim` and splits `shard_dim` along `axis`.
struct ReshardStep {
  ReshardPattern pattern = ReshardPattern::kAllGather;
  std::uint8_t gather_dim = 0;
  std::uint8_t shard_dim = 0;
  std::uint8_t axis = 0;
  DimSpecs result;
  PhaseCost cost;  // of the element count; times the element size = bytes
};

// The conversions possible from `from` in one step, in ColossalAI's order: gathers, all-to-alls,
// splits; each result once, invalid ones dropped.
std::vector<ReshardStep> one_step_reshards(const SpecTable& table, const TensorShape& shape,
                                           const DimSpecs& from);

// How a path is found and priced.
enum class PathCost : std::uint8_t {
  kCompat,  // ColossalAI's greedy path; each step adds the running total once more
  kSum,     // the same path, the sum of its steps
  kExact,   // the cheapest path by the sum of total costs
};

// A path; no steps where the two specs are equal. `found` is false where the greedy search gives up.
struct ReshardPath {
  bool found = true;
  std::vector<ReshardStep> steps;
  PhaseCost cost;
  std::int64_t peak_elements = 0;  // per device, while converting; source included
};

// Finds paths and remembers them: one search per (shape, source, target).
// Thread safety: path() may be called from any thread.
class ReshardPlanner {
 public:
  ReshardPlanner(SpecTable& table, PathCost mode);
  ~ReshardPlanner();

  // Precondition: both specs belong to the table and have one shape. The path lives as long as the
  // planner. O(1) once known.
  const ReshardPath& path(const ShardingSpec* from, const ShardingSpec* to);
  // Total cost of that path. Equal specs cost nothing and are no search.
  double cost(const ShardingSpec* from, const ShardingSpec* to);

  // Searches made, each for another question.
  std::size_t num_searches() const;

 private:
  struct Memo;
  SpecTable* table_;
  PathCost mode_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace shardwright::operators
