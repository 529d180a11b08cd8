#include "core/redistribution/cost/tensor/redistribution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/numeric/exact_arithmetic.h"

namespace shardwright::redistribution {
namespace {

constexpr std::int64_t kMaxBytes = (std::int64_t{1} << 62) - 1;

std::string at(const char* list, std::size_t index) {
  return "/" + std::string(list) + "/" + std::to_string(index);
}

// An empty dimension counts as 1, so that strides stay below the limit, too.
Status check_shape(const RedistributionSpec& spec) {
  if (spec.itemsize < 1) return invalid_input("/itemsize", "must be at least 1");
  std::int64_t bytes = spec.itemsize;
  for (std::size_t dim = 0; dim < spec.shape.size(); ++dim) {
    if (spec.shape[dim] < 0) return invalid_input(at("shape", dim), "must not be negative");
    const std::int64_t size = std::max<std::int64_t>(spec.shape[dim], 1);
    if (bytes > kMaxBytes / size) {
      return invalid_input("/shape", "the tensor has 2^62 bytes or more");
    }
    bytes *= size;
  }
  if (!spec.strides.empty() && spec.strides.size() != spec.shape.size()) {
    return invalid_input("/strides", std::to_string(spec.strides.size()) + " strides for " +
                                         std::to_string(spec.shape.size()) + " dimensions");
  }
  return {};
}

Status check_placements(const RedistributionSpec& spec, const char* name,
                        const std::vector<AxisPlacement>& placements) {
  if (placements.size() != spec.mesh.size()) {
    return invalid_input("/" + std::string(name), std::to_string(placements.size()) +
                                                      " placements for a mesh of " +
                                                      std::to_string(spec.mesh.size()) + " axes");
  }
  for (std::size_t axis = 0; axis < placements.size(); ++axis) {
    if (placements[axis].is_shard() && placements[axis].dim >= spec.shape.size()) {
      return invalid_input(at(name, axis),
                           "the tensor has no dimension " + std::to_string(placements[axis].dim));
    }
  }
  return {};
}

bool is_contiguous(const RedistributionSpec& spec) {
  if (spec.strides.empty()) return true;
  // An empty dimension counts as 0 in the one and as 1 in the other; both are valid strides.
  std::int64_t expected = 1;
  std::int64_t expected_nonempty = 1;
  for (std::size_t dim = spec.shape.size(); dim-- > 0;) {
    const std::int64_t size = spec.shape[dim];
    if (size == 1) continue;
    const std::int64_t stride = spec.strides[dim];
    if (stride != expected && stride != expected_nonempty) return false;
    expected_nonempty *= std::max<std::int64_t>(size, 1);
    expected *= size;
  }
  return true;
}

std::int64_t bytes_of(const RedistributionSpec& spec) {
  std::int64_t bytes = spec.itemsize;
  for (const std::int64_t size : spec.shape)
    bytes *= size;
  return bytes;
}

// Members that the kind does not use may hold anything in a caller's struct.
void normalize(std::vector<AxisPlacement>& placements) {
  for (AxisPlacement& placement : placements) {
    if (!placement.is_shard()) placement.dim = 0;
    if (!placement.is_partial()) placement.reduce_op = ReduceOp::kSum;
  }
}

}  // namespace

double bytes_per_device(std::int64_t bytes, const MeshShape& mesh,
                        const std::vector<AxisPlacement>& placements) {
  std::uint64_t parts = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (placements[axis].is_shard()) parts *= static_cast<std::uint64_t>(mesh[axis]);
  }
  return true_divide(static_cast<std::uint64_t>(bytes), parts);
}

Redistribution::Redistribution(RedistributionSpec spec)
    : spec_(std::move(spec)),
      is_contiguous_(redistribution::is_contiguous(spec_)),
      source_bytes_per_device_(bytes_per_device(bytes_of(spec_), spec_.mesh, spec_.source)) {}

Result<Redistribution> Redistribution::make(RedistributionSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(spec.mesh));
  SHARDWRIGHT_RETURN_IF_ERROR(check_shape(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_placements(spec, "source", spec.source));
  SHARDWRIGHT_RETURN_IF_ERROR(check_placements(spec, "target", spec.target));
  normalize(spec.source);
  normalize(spec.target);
  return Redistribution(std::move(spec));
}

bool Redistribution::source_is_replicated() const {
  return std::all_of(spec_.source.begin(), spec_.source.end(),
                     [](const AxisPlacement& placement) { return placement.is_replicate(); });
}

}  // namespace shardwright::redistribution
