#include "runtime/redistribution/placement_code.h"

#include <algorithm>
#include <string>
#include <vector>

namespace shardwright {
namespace {

using namespace redistribution;

// Returns the axes that shard dimension `dim`, ordered by their index. Errors: kInvalidInput unless
// each index occurs once.
Result<Axes> axes_by_index(const Placement& given, std::size_t num_axes, std::size_t dim) {
  Axes axes;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if (given.is_shard(axis) && given.dim(axis) == dim)
      axes.push_back(static_cast<std::uint8_t>(axis));
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return given.index(a) < given.index(b); });
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (given.index(axes[i]) != i) {
      return invalid_input("/" + std::to_string(axes[i]),
                           "the shards of dimension " + std::to_string(dim) +
                               " need the indices 0 to " + std::to_string(axes.size() - 1) +
                               ", each once");
    }
  }
  return axes;
}

Status check_bytes(std::uint64_t code, std::size_t num_axes) {
  for (std::size_t axis = 0; axis < kMaxMeshAxes; ++axis) {
    const std::uint64_t byte = code >> (8 * axis) & 0xff;
    if (axis >= num_axes && byte != 0) {
      return invalid_input("/" + std::to_string(axis),
                           "the mesh has " + std::to_string(num_axes) + " axes");
    }
    if (byte > kNumReduceOps && byte < 16) {
      return invalid_input("/" + std::to_string(axis),
                           "there is no placement " + std::to_string(byte));
    }
  }
  return {};
}

}  // namespace

Result<Placement> read_placement_code(std::uint64_t code, std::size_t num_axes,
                                      std::size_t num_dims) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_bytes(code, num_axes));
  const Placement given = Placement::of_code(code);
  std::vector<AxisPlacement> axes;
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    axes.push_back(given.on(axis));
  std::vector<ShardOrder> order;
  for (std::size_t dim = 0; dim < std::min(num_dims, kMaxDims); ++dim) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(Axes ordered, axes_by_index(given, num_axes, dim));
    if (!ordered.empty()) order.push_back({dim, std::move(ordered)});
  }
  return Placement::make(axes, num_dims, order);
}

}  // namespace shardwright
