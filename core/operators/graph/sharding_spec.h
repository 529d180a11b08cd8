// Interned shapes and sharding specs, which say how a tensor is laid out on a mesh.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/interner.h"
#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::operators {

// The mesh axes that shard one dimension, always in ascending order. A mesh of two axes has exactly
// four values (R, S0, S1, S01). Thread safety: a value.
struct DimSpec {
  std::uint8_t axes = 0;  // bit a: sharded along axis a

  constexpr bool replicated() const { return axes == 0; }
  constexpr int num_axes() const { return std::popcount(axes); }
  constexpr bool has(int axis) const { return ((axes >> axis) & 1) != 0; }
  // The highest axis; -1 if replicated.
  constexpr int last_axis() const { return std::bit_width(axes) - 1; }
  constexpr DimSpec with(int axis) const {
    return {static_cast<std::uint8_t>(axes | (1U << axis))};
  }
  constexpr DimSpec without(int axis) const {
    return {static_cast<std::uint8_t>(axes & ~(1U << axis))};
  }
  friend constexpr bool operator==(DimSpec, DimSpec) = default;

  // "R", "S0", "S01".
  std::string to_string() const;
};

// The cost of converting a dimension, as ColossalAI counts it: 20 for dropping the last axis, 5 for
// appending a later axis, and 6 for every step after the first. Source: _dim_difference, ColossalAI
// colossalai/tensor/sharding_spec.py.
constexpr int dim_difference(DimSpec from, DimSpec to) {
  const int differing = from.axes ^ to.axes;
  if (differing == 0) return 0;
  const int beyond_prefix = ~((differing & -differing) - 1);  // from the first axis that differs on
  const int drops = std::popcount(static_cast<unsigned>(from.axes & beyond_prefix));
  const int appends = std::popcount(static_cast<unsigned>(to.axes & beyond_prefix));
  return 20 * drops + 5 * appends + 6 * (drops + appends - 1);
}

// One DimSpec per dimension of a tensor, packed into one word. Tensors have at most 8 dimensions.
// Thread safety: a value.
class DimSpecs {
 public:
  static constexpr std::size_t kMaxRank = 8;

  constexpr DimSpecs() = default;
  // Replicates all dimensions.
  constexpr explicit DimSpecs(std::size_t rank) : rank_(static_cast<std::uint8_t>(rank)) {}

  constexpr std::size_t rank() const { return rank_; }
  constexpr DimSpec operator[](std::size_t dim) const {
    return {static_cast<std::uint8_t>(bits_ >> (8 * dim))};
  }
  constexpr DimSpecs with(std::size_t dim, DimSpec spec) const {
    DimSpecs changed = *this;
    changed.bits_ &= ~(std::uint64_t{0xff} << (8 * dim));
    changed.bits_ |= std::uint64_t{spec.axes} << (8 * dim);
    return changed;
  }
  // The axes that shard any dimension, as bits.
  constexpr std::uint8_t used_axes() const {
    std::uint64_t folded = bits_;
    folded |= folded >> 32;
    folded |= folded >> 16;
    folded |= folded >> 8;
    return static_cast<std::uint8_t>(folded);
  }
  // Returns true if no axis shards two dimensions.
  constexpr bool disjoint() const { return std::popcount(bits_) == std::popcount(used_axes()); }
  constexpr std::uint64_t bits() const { return bits_; }
  friend constexpr bool operator==(const DimSpecs&, const DimSpecs&) = default;

  // "S0,R,S1".
  std::string to_string() const;
  // The inverse of to_string(); ignores brackets and spaces. Errors: unknown text, axes that do not
  // ascend, an axis above seven, more than eight dimensions.
  static Result<DimSpecs> parse(std::string_view text);

 private:
  std::uint64_t bits_ = 0;
  std::uint8_t rank_ = 0;
};

// The sum of dim_difference() over the dimensions. Precondition: equal rank.
constexpr int difference(const DimSpecs& from, const DimSpecs& to) {
  int sum = 0;
  for (std::size_t dim = 0; dim < from.rank(); ++dim)
    sum += dim_difference(from[dim], to[dim]);
  return sum;
}

// The description of a mesh. If empty, `alpha` and `beta` default to 1 on every axis, and
// `device_ids` to 0, 1, 2, ...
struct DeviceMeshSpec {
  std::vector<std::uint32_t> shape;       // devices along each axis
  std::vector<double> alpha;              // latency of a collective along the axis
  std::vector<double> beta;               // inverse bandwidth along the axis, per element
  std::vector<std::uint32_t> device_ids;  // row-major
};

// An immutable mesh of one to eight axes.
// Thread safety: const members may be called from any thread.
class DeviceMesh {
 public:
  static constexpr std::size_t kMaxAxes = 8;

  // Errors (kInvalidInput, with the place below the mesh): no axis or more than eight; an axis
  // without devices; lists of the wrong length; alpha or beta negative or above 1e200; device ids
  // that repeat; more than 2^31 devices.
  static Result<std::shared_ptr<const DeviceMesh>> make(DeviceMeshSpec spec);

  std::size_t num_axes() const { return spec_.shape.size(); }
  std::uint32_t size(std::size_t axis) const { return spec_.shape[axis]; }
  double alpha(std::size_t axis) const { return spec_.alpha[axis]; }
  double beta(std::size_t axis) const { return spec_.beta[axis]; }
  std::uint32_t num_devices() const { return num_devices_; }
  // The largest alpha and beta. They describe the mesh flattened to one axis.
  double flat_alpha() const { return flat_alpha_; }
  double flat_beta() const { return flat_beta_; }
  // The spec with alpha and beta filled in; `device_ids` as given.
  const DeviceMeshSpec& spec() const { return spec_; }
  // The number of devices along all `axes` together (bit a: axis a).
  std::uint32_t devices_along(std::uint8_t axes) const { return devices_along_[axes]; }

 private:
  explicit DeviceMesh(DeviceMeshSpec spec);

  DeviceMeshSpec spec_;
  std::uint32_t num_devices_ = 1;
  double flat_alpha_ = 0;
  double flat_beta_ = 0;
  std::vector<std::uint32_t> devices_along_;  // by set of axes, as bits
};

// The extents of a tensor, in elements; rank 0 is a scalar. Interned by a SpecTable.
struct TensorShape {
  std::vector<std::int64_t> dims;

  std::size_t rank() const { return dims.size(); }
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

// A shape, and the axes that shard each dimension. Interned by a SpecTable: two specs of one table
// are equal if and only if their addresses are equal.
// Thread safety: immutable.
struct ShardingSpec {
  const TensorShape* shape = nullptr;
  DimSpecs dims;
  std::int64_t local_elements = 0;  // per device; 1 for a scalar

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

  // Returns false if a spec uses an axis that the mesh lacks, uses an axis twice, has another rank
  // than the shape, or if the devices do not divide an extent.
  bool valid(const TensorShape& shape, const DimSpecs& dims) const;
  // Returns nullptr if the spec is not valid.
  const ShardingSpec* find_or_add(const TensorShape* shape, const DimSpecs& dims);
  // Precondition: valid(*shape, dims).
  const ShardingSpec* intern(const TensorShape* shape, const DimSpecs& dims);

  // The number of elements per device. Precondition: valid(shape, dims).
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

// Precondition: no axis shards two dimensions.
redistribution::Placement to_placement(const DimSpecs& specs);

// Preconditions: no axis is partial, and the axes of every dimension shard in ascending order.
DimSpecs to_dim_specs(const redistribution::Placement& placement, std::size_t rank);

redistribution::MeshShape mesh_shape_of(const DeviceMesh& mesh);

}  // namespace shardwright::operators
