// Placements as text, and conversion to and from DTensor's strided shards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Returns one word per mesh axis: "R", "S(0)", "P(sum)". If the axes of a dimension do not shard in
// ascending order, their words have the index: "S(0)[1]" cuts the pieces of "S(0)[0]".
std::vector<std::string> to_words(const Placement& placement, std::size_t num_axes);
std::string to_text(const Placement& placement, std::size_t num_axes);  // joined by spaces

// The inverse of to_words(). "P" means "P(sum)". Either all or none of the shards of a dimension
// have an index. Errors (kInvalidInput): those of Placement::make; at "/<axis>", unknown words, and
// indices that are not 0, 1, 2, ... within a dimension.
Result<Placement> read_words(std::span<const std::string> words, std::size_t num_dims);

// Returns, by mesh axis, the split factor of DTensor's _StridedShard; 1 for a plain Shard, and 0 if
// the axis is not a shard. The factor is the product of the sizes of the axes that cut the
// dimension before this axis but come after it in the mesh.
// Source: torch 2.13, torch/distributed/tensor/_dtensor_spec.py,
// _convert_shard_order_to_StridedShard.
std::vector<std::int64_t> split_factors(const MeshShape& mesh, const Placement& placement);

// Returns the placement with these split factors, one per axis. Factors of axes that are not shards
// are ignored. Errors (kInvalidInput): those of Placement::make; at "/<axis>", a factor that no
// order of the axes gives. Source: torch 2.13, torch/distributed/tensor/_dtensor_spec.py,
// _maybe_convert_StridedShard_to_shard_order.
Result<Placement> placement_of_split_factors(const MeshShape& mesh,
                                             std::span<const AxisPlacement> axes,
                                             std::size_t num_dims,
                                             std::span<const std::int64_t> factors);

}  // namespace shardwright::redistribution
