// One way of sharding one table. Options are immutable, interned, and shared by plans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/interner.h"

namespace shardwright::embedding {

// A run of `count` consecutive shards of equal size. Shard k begins at row row_offset + k *
// row_step and column column_offset + k * column_step, and has `rows` rows and `columns` columns.
// For data-parallel replicas both steps are zero.
struct ShardExtent {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_offset = 0;
  std::int64_t column_offset = 0;
  std::int64_t row_step = 0;
  std::int64_t column_step = 0;
  std::uint32_t count = 0;

  bool empty() const { return rows == 0 || columns == 0; }
  friend bool operator==(const ShardExtent&, const ShardExtent&) = default;
};

// The shards of a table, in shard order. Equal neighbours form one run, so a row-wise layout over
// 2,048 ranks has at most three extents.
struct ShardLayout {
  boost::container::small_vector<ShardExtent, 3> extents;
  std::uint32_t num_shards = 0;

  void append(const ShardExtent& extent) {
    extents.push_back(extent);
    num_shards += extent.count;
  }
  friend bool operator==(const ShardLayout& a, const ShardLayout& b) {
    return a.num_shards == b.num_shards && a.extents == b.extents;
  }
};

// The cost of each shard of one extent.
struct ShardCost {
  Storage storage;
  Perf perf;

  friend bool operator==(const ShardCost&, const ShardCost&) = default;
};

// Many options and tables share one layout.
struct ShardLayoutTraits {
  static std::uint64_t hash(const ShardLayout& layout);
  static bool equal(const ShardLayout& a, const ShardLayout& b) { return a == b; }
};
using ShardLayoutInterner = Interner<ShardLayout, ShardLayoutTraits>;

// The content of an option. `costs` and `layout->extents` have the same indices.
struct ShardingOption {
  TableId table;
  ShardingType sharding_type = ShardingType::kTableWise;
  ComputeKernel compute_kernel = ComputeKernel::kFused;
  std::optional<double> load_factor;  // cached rows / rows; only for kernels with a cache
  std::int64_t batch_size = 0;
  bool is_pooled = true;
  bool is_weighted = false;
  const ShardLayout* layout = nullptr;
  boost::container::small_vector<ShardCost, 3> costs;

  PartitionBy partition_by() const { return embedding::partition_by(sharding_type); }
  std::uint32_t num_shards() const { return layout->num_shards; }

  // Sums over the shards in shard order, which is the order of additions in TorchRec. O(number of
  // runs x log(shards)) time.
  Storage total_storage() const;
  Milliseconds total_perf() const;
  // The largest total time of a single shard.
  Milliseconds max_shard_perf() const;

  // The cost of shard i. O(number of runs).
  const ShardCost& shard_cost(std::uint32_t shard) const;

  friend bool operator==(const ShardingOption&, const ShardingOption&) = default;
};

struct ShardingOptionTraits {
  static std::uint64_t hash(const ShardingOption& option);
  static bool equal(const ShardingOption& a, const ShardingOption& b) { return a == b; }
};
using ShardingOptionInterner = Interner<ShardingOption, ShardingOptionTraits>;

// Collects the shards of one option in order and merges them greedily into runs. A run of one shard
// has steps of zero. Options with the same shards and costs get the same runs.
// Thread safety: one thread at a time.
struct ShardRuns {
  ShardLayout layout;
  boost::container::small_vector<ShardCost, 3> costs;  // indexed like layout.extents

  // Appends shards. They join the last run if they continue it exactly: they have the same size and
  // cost, and all offsets form an arithmetic progression.
  void append(ShardExtent extent, const ShardCost& cost);
};

}  // namespace shardwright::embedding
