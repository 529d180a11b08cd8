#include "core/operators/mesh/sharding_spec.h"

#include "core/check.h"

namespace shardwright::operators {

const TensorShape* SpecTable::shape(std::span<const std::int64_t> dims) {
  SHARDWRIGHT_CHECK(dims.size() <= DimSpecs::kMaxRank);
  return shapes_.intern(TensorShape{{dims.begin(), dims.end()}});
}

bool SpecTable::valid(const TensorShape& shape, const DimSpecs& dims) const {
  if (dims.rank() != shape.rank() || !dims.disjoint()) return false;
  if ((dims.used_axes() >> mesh_->num_axes()) != 0) return false;
  for (std::size_t dim = 0; dim < dims.rank(); ++dim) {
    if (shape.dims[dim] % mesh_->devices_along(dims[dim].axes) != 0) return false;
  }
  return true;
}

const ShardingSpec* SpecTable::find_or_add(const TensorShape* shape, const DimSpecs& dims) {
  return valid(*shape, dims) ? intern(shape, dims) : nullptr;
}

const ShardingSpec* SpecTable::intern(const TensorShape* shape, const DimSpecs& dims) {
  return specs_.intern(ShardingSpec{shape, dims, local_elements(*shape, dims)});
}

std::int64_t SpecTable::local_elements(const TensorShape& shape, const DimSpecs& dims) const {
  SHARDWRIGHT_DCHECK(valid(shape, dims));
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < dims.rank(); ++dim)
    elements *= shape.dims[dim] / mesh_->devices_along(dims[dim].axes);
  return elements;
}

std::uint64_t SpecTable::ShapeTraits::hash(const TensorShape& shape) {
  std::uint64_t hash = shape.rank();
  for (const std::int64_t extent : shape.dims)
    hash = hash_mix(hash, static_cast<std::uint64_t>(extent));
  return hash;
}

std::uint64_t SpecTable::SpecTraits::hash(const ShardingSpec& spec) {
  return hash_mix(reinterpret_cast<std::uintptr_t>(spec.shape), spec.dims.bits());
}

}  // namespace shardwright::operators
