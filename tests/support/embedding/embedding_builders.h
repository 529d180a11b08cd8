// Small embedding problems and options for tests, built without the search.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::test_support {

// `tables` tables t0, t1, ... of rows x columns.
inline embedding::ProblemSpec problem_spec(std::size_t tables, std::int64_t world_size,
                                           std::int64_t local_world_size, std::int64_t rows = 24,
                                           std::int64_t columns = 16) {
  embedding::ProblemSpec spec;
  spec.name = "test";
  spec.topology.world_size = world_size;
  spec.topology.local_world_size = local_world_size;
  for (std::size_t i = 0; i < tables; ++i) {
    embedding::Table table;
    table.name = "t" + std::to_string(i);
    table.num_embeddings = rows;
    table.embedding_dim = columns;
    table.features = {"f" + std::to_string(i)};
    spec.tables.push_back(std::move(table));
  }
  return spec;
}

// Owns options and the layouts that they point to. Their addresses stay valid during its lifetime.
class OptionStore {
 public:
  // Adds an option with one run of equal shards per extent. Every shard of run i costs `costs[i]`.
  const embedding::ShardingOption& add(embedding::TableId table, embedding::ShardingType type,
                                       const std::vector<embedding::ShardExtent>& extents,
                                       const std::vector<embedding::ShardCost>& costs) {
    embedding::ShardLayout layout;
    for (const embedding::ShardExtent& extent : extents)
      layout.append(extent);
    embedding::ShardingOption option;
    option.table = table;
    option.sharding_type = type;
    option.layout = layouts_.intern(std::move(layout));
    option.costs.assign(costs.begin(), costs.end());
    return options_.emplace_back(std::move(option));
  }

  // Adds an option of `shards` equal shards that cost `ms` and `hbm` bytes each. The table of rows
  // x columns is cut as the sharding type demands; a grid has one column block.
  const embedding::ShardingOption& add_even(embedding::TableId table, embedding::ShardingType type,
                                            std::uint32_t shards, double ms = 1,
                                            std::int64_t hbm = 100, std::int64_t rows = 24,
                                            std::int64_t columns = 16) {
    using embedding::ShardingType;
    embedding::ShardExtent extent{rows, columns, 0, 0, 0, 0, shards};
    if (type == ShardingType::kColumnWise || type == ShardingType::kTableColumnWise) {
      extent.columns = extent.column_step = columns / shards;
    } else if (type != ShardingType::kDataParallel) {
      extent.rows = extent.row_step = rows / shards;
    }
    embedding::ShardCost cost;
    cost.storage.hbm = Bytes(hbm);
    cost.perf.fwd_compute = Milliseconds(ms);
    return add(table, type, {extent}, {cost});
  }

 private:
  embedding::ShardLayoutInterner layouts_;
  std::deque<embedding::ShardingOption> options_;
};

}  // namespace shardwright::test_support
