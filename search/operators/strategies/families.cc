#include "search/operators/strategies/families.h"

namespace shardwright::operators::internal {

MeshAxes::MeshAxes(const DeviceMesh& mesh) {
  for (std::size_t axis = 0; axis < mesh.num_axes(); ++axis) {
    singles.push_back(static_cast<std::uint8_t>(1U << axis));
    all = static_cast<std::uint8_t>(all | singles.back());
  }
  if (mesh.num_axes() == 2) {
    pairs.emplace_back(singles[0], singles[1]);
    pairs.emplace_back(singles[1], singles[0]);
  }
}

LocalShape::LocalShape(const DeviceMesh& mesh, const ShardingSpec& spec) : rank_(spec.dims.rank()) {
  for (std::size_t i = 0; i < rank_; ++i) {
    const std::int64_t extent = spec.shape->dims[i] / mesh.devices_along(spec.dims[i].axes);
    extents_[i] = static_cast<double>(extent);
  }
}

double LocalShape::product(std::size_t first, std::size_t last) const {
  double product = 1;
  for (std::size_t i = first; i < last; ++i)
    product *= extents_[i];
  return product;
}

DimSpecs unbroadcast(const DimSpecs& logical, std::span<const std::int64_t> logical_shape,
                     std::span<const std::int64_t> physical_shape, std::uint8_t& removed) {
  DimSpecs physical(physical_shape.size());
  const std::size_t padding = logical_shape.size() - physical_shape.size();
  for (std::size_t d = 0; d < logical_shape.size(); ++d) {
    const DimSpec spec = logical[d];
    if (spec.replicated()) continue;
    if (d < padding || physical_shape[d - padding] != logical_shape[d]) {
      removed = static_cast<std::uint8_t>(removed | spec.axes);
    } else {
      physical = physical.with(d - padding, spec);
    }
  }
  return physical;
}

PhaseMemory phases(const MemoryCost& forward, const MemoryCost& backward) {
  return {forward,
          backward,
          {forward.activation + backward.activation, forward.parameter + backward.parameter,
           forward.temporary + backward.temporary, forward.buffer + backward.buffer}};
}

PhaseMemory follow_memory(std::int64_t input_bytes, std::int64_t output_bytes,
                          bool input_is_param) {
  MemoryCost forward{output_bytes, 0, 0, 0};
  MemoryCost backward{};
  (input_is_param ? forward.parameter : forward.activation) += input_bytes;
  (input_is_param ? backward.parameter : backward.activation) += input_bytes;
  return phases(forward, backward);
}

}  // namespace shardwright::operators::internal
