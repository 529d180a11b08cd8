// Interned shapes and sharding specs: how a tensor is laid out on a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/interner.h"
#include "core/operators/mesh/device_mesh.h"
#include "core/operators/mesh/dim_spec.h"

namespace shardwright::operators {

// The extents of a tensor, in elements; rank 0 is a scalar. Interned by a SpecTable.
struct TensorShape {
  std::vector<std::int64_t> dims;

  std::size_t rank() const { return dims.size(); }
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

// A shape with the axes that shard each of its dimensions. Interned by a SpecTable: two specs of a
// table are equal exactly if their addresses are equal.
// Thread safety: immutable.
struct ShardingSpec {
  const TensorShape* shape = nullptr;
  DimSpecs dims;
  std::int64_t local_elements = 0;  // on one device; 1 for a scalar

  friend bool operator==(const ShardingSpec&, const ShardingSpec&) = default;
};

// All shapes and specs of one mesh, each stored once.
// Thread safety: intern and the counters may be called from any thread.
class SpecTable {
 public:
  explicit SpecTable(std::shared_ptr<const DeviceMesh> mesh) : mesh_(std::move(mesh)) {}

  const DeviceMesh& mesh() const { return *mesh_; }
  // Preconditions: rank at most DimSpecs::kMaxRank, no extent negative, at most 2^59 elements.
  const TensorShape* shape(std::span<const std::int64_t> dims);

  // Specs are not valid if they use an axis that the mesh lacks or use one twice, if their rank is
  // not that of the shape, or if the devices do not divide an extent.
  bool valid(const TensorShape& shape, const DimSpecs& dims) const;
  // Returns nullptr if the spec is not valid.
  const ShardingSpec* find_or_add(const TensorShape* shape, const DimSpecs& dims);
  // Precondition: valid.
  const ShardingSpec* intern(const TensorShape* shape, const DimSpecs& dims);

  // Elements of the tensor that one device holds. Precondition: valid.
  std::int64_t local_elements(const TensorShape& shape, const DimSpecs& dims) const;

  std::size_t num_shapes() const { return shapes_.size(); }
  std::size_t num_specs() const { return specs_.size(); }

 private:
  struct ShapeTraits {
    static std::uint64_t hash(const TensorShape& shape);
    static bool equal(const TensorShape& a, const TensorShape& b) { return a == b; }
  };
  struct SpecTraits {
    static std::uint64_t hash(const ShardingSpec& spec);
    static bool equal(const ShardingSpec& a, const ShardingSpec& b) { return a == b; }
  };

  std::shared_ptr<const DeviceMesh> mesh_;
  Interner<TensorShape, ShapeTraits> shapes_;
  Interner<ShardingSpec, SpecTraits> specs_;
};

}  // namespace shardwright::operators
