// Search spaces from options that somebody else computed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/embedding/search_space.h"
#include "core/embedding/shard_runs.h"
#include "core/status.h"

namespace shardwright {

// Takes options in enumeration order, shard by shard, and checks each against the problem: what the
// partitioners rely on, that shards lie within their table, that all bytes can be added up. Equal
// neighbours become runs. Errors have no place; the caller knows it.
// Thread safety: one thread at a time.
class SearchSpaceBuilder {
 public:
  explicit SearchSpaceBuilder(std::shared_ptr<const embedding::Problem> problem);

  // Room for so many options.
  void reserve(std::size_t options) { options_.reserve(options); }

  // Starts the next option, with what `table` says of it: batch size, pooling, weights.
  Status begin_option(std::uint64_t table, embedding::ShardingType type,
                      embedding::ComputeKernel kernel);
  // The option begun, for what differs from its table.
  embedding::ShardingOption& option() { return option_; }
  // Appends a shard, or a run of them, to the option begun. Costs are taken exactly; -0.0 is 0.
  Status add_shards(const embedding::ShardExtent& extent, const embedding::ShardCost& cost);
  // The option begun has all its shards.
  Status end_option();

  // Errors: a table is without an option. Nothing can be added afterwards.
  Result<std::shared_ptr<const embedding::SearchSpace>> finish();

 private:
  bool within_table(const embedding::ShardExtent& extent) const;
  Status check_num_shards() const;

  std::shared_ptr<const embedding::Problem> problem_;
  std::shared_ptr<embedding::ShardLayoutInterner> layouts_;
  std::int64_t max_option_bytes_;
  std::vector<embedding::ShardingOption> options_;
  std::vector<bool> has_option_;  // by table

  embedding::ShardingOption option_;
  ShardRuns runs_;
  embedding::Storage bytes_left_;  // that the option may still take
};

}  // namespace shardwright
