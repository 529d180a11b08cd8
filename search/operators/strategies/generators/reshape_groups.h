// Matches the dimensions of a tensor before and after a reshape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/mesh/sharding_spec.h"

namespace shardwright::operators::internal {

// Dimensions of the source that become those of the target. Either side may be empty.
struct ReshapeGroup {
  std::vector<std::size_t> from;
  std::vector<std::size_t> to;
};

// The groups from the last dimension to the first, or nothing if the walk over both shapes does not
// end at the same time. Precondition: equal element counts. Source: detect_reshape_mapping,
// ColossalAI colossalai/auto_parallel/tensor_shard/utils/reshape.py.
std::optional<std::vector<ReshapeGroup>> reshape_groups(std::span<const std::int64_t> from,
                                                        std::span<const std::int64_t> to);

// The placement after the reshape, or nothing where it cannot be kept: only the first dimension of
// a group may be sharded. Source: check_keep_sharding_status, infer_output_dim_partition_dict.
std::optional<DimSpecs> reshape_placement(const std::vector<ReshapeGroup>& groups,
                                          const DimSpecs& from, std::size_t to_rank);

}  // namespace shardwright::operators::internal
