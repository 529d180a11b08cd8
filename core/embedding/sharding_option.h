// One way of sharding one table: immutable, interned, shared by every plan that uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/interner.h"

namespace shardwright::embedding {

// A run: `count` consecutive shards of equal size. Shard k covers `rows` rows from row_offset + k *
// row_step on, and `columns` columns from column_offset + k * column_step on. Data-parallel
// replicas have both steps zero.
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

// How a table is cut into shards, in shard order. Equal neighbours are one run: a row-wise cut over
// 2,048 ranks is at most three extents.
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

// Cost of each shard of one extent.
struct ShardCost {
  Storage storage;
  Perf perf;

  friend bool operator==(const ShardCost&, const ShardCost&) = default;
};

// Many options and many tables share one layout.
struct ShardLayoutTraits {
  static std::uint64_t hash(const ShardLayout& layout);
  static bool equal(const ShardLayout& a, const ShardLayout& b) { return a == b; }
};
using ShardLayoutInterner = Interner<ShardLayout, ShardLayoutTraits>;

// The content of an option. `costs` runs parallel to `layout->extents`.
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

  // Sums over the shards in shard order; the order of additions is TorchRec's. O(number of runs x
  // log(shards)) time.
  Storage total_storage() const;
  Milliseconds total_perf() const;
  // Largest total of a single shard.
  Milliseconds max_shard_perf() const;

  // Cost of shard i. O(number of runs).
  const ShardCost& shard_cost(std::uint32_t shard) const;

  friend bool operator==(const ShardingOption&, const ShardingOption&) = default;
};

struct ShardingOptionTraits {
  static std::uint64_t hash(const ShardingOption& option);
  static bool equal(const ShardingOption& a, const ShardingOption& b) { return a == b; }
};
using ShardingOptionInterner = Interner<ShardingOption, ShardingOptionTraits>;

// The shards of one option in order, merged greedily into runs. A run of one shard has steps of
// zero. Two options with the same shards and costs get the same runs, however they were written.
// Thread safety: one thread at a time.
struct ShardRuns {
  ShardLayout layout;
  boost::container::small_vector<ShardCost, 3> costs;  // parallel to layout.extents

  // Appends shards. They join the last run if they continue it exactly: same size, same cost, and
  // offsets in arithmetic progression.
  void append(ShardExtent extent, const ShardCost& cost);
};

}  // namespace shardwright::embedding
