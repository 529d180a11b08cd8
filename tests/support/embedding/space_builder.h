// Builds search spaces from options and costs that a test gives one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::test_support {

class SpaceBuilder {
 public:
  // With `tile`, the shards of an option are equal row blocks that cover the table, as the
  // evaluator demands; the rows must be divisible by the number of shards. Without it, each shard
  // has one cell.
  explicit SpaceBuilder(embedding::ProblemSpec spec, bool tile = false)
      : problem_(std::make_shared<const embedding::Problem>(
            embedding::Problem::make(std::move(spec)).value())),
        tile_(tile) {}

  const std::shared_ptr<const embedding::Problem>& problem() const { return problem_; }

  // Adds an option of `shards` equal shards. Each takes `ms` and the given bytes.
  SpaceBuilder& add(std::size_t table, embedding::ShardingType type, std::uint32_t shards,
                    double ms, std::int64_t hbm, std::int64_t ddr = 0, std::int64_t ssd = 0) {
    return add_runs(table, type, {{shards, ms, hbm, ddr, ssd}});
  }

  // Consecutive shards that have the same costs each.
  struct Run {
    std::uint32_t shards = 1;
    double ms = 0;
    std::int64_t hbm = 0;
    std::int64_t ddr = 0;
    std::int64_t ssd = 0;
  };
  SpaceBuilder& add_runs(std::size_t table, embedding::ShardingType type,
                         const std::vector<Run>& runs) {
    embedding::ShardLayout layout;
    embedding::ShardingOption option;
    embedding::ShardExtent extent{1, 1, 0, 0, 1, 0, 0};
    if (tile_) extent = tile(problem_->tables()[table], type, runs);
    for (const Run& run : runs) {
      extent.row_offset = static_cast<std::int64_t>(layout.num_shards) * extent.row_step;
      extent.count = run.shards;
      layout.append(extent);
      embedding::ShardCost cost;
      cost.storage = {Bytes(run.hbm), Bytes(run.ddr), Bytes(run.ssd)};
      cost.perf.fwd_compute = Milliseconds(run.ms);
      option.costs.push_back(cost);
    }
    option.table = embedding::TableId(table);
    option.sharding_type = type;
    option.layout = layouts_->intern(std::move(layout));
    options_.push_back(std::move(option));
    return *this;
  }

  std::shared_ptr<const embedding::SearchSpace> take() {
    return embedding::SearchSpace::make(problem_, layouts_, std::move(options_));
  }

 private:
  static embedding::ShardExtent tile(const embedding::Table& table, embedding::ShardingType type,
                                     const std::vector<Run>& runs) {
    const std::int64_t rows = table.num_embeddings;
    const std::int64_t columns = table.embedding_dim;
    if (type == embedding::ShardingType::kDataParallel) return {rows, columns, 0, 0, 0, 0, 0};
    std::int64_t shards = 0;
    for (const Run& run : runs)
      shards += run.shards;
    const std::int64_t of_shard = rows / std::max<std::int64_t>(1, shards);
    return {of_shard, columns, 0, 0, of_shard, 0, 0};
  }

  std::shared_ptr<const embedding::Problem> problem_;
  bool tile_ = false;
  std::shared_ptr<embedding::ShardLayoutInterner> layouts_ =
      std::make_shared<embedding::ShardLayoutInterner>();
  std::vector<embedding::ShardingOption> options_;
};

}  // namespace shardwright::test_support
