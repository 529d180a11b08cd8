// Tensors of PyTorch's graphs: shape, strides and element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/redistribution/placement/box.h"
#include "core/redistribution/placement/mesh_shape.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::operators {

enum class AtenType : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kFloat8E4m3,
  kFloat8E5m2,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kComplex64,
  kComplex128,
};
inline constexpr std::size_t kNumAtenTypes = 17;

// torch's names without "torch.", numbered like the enumeration.
std::span<const std::string_view> aten_type_names();
std::int64_t bytes_of(AtenType type);

// Thread safety: a value.
struct AtenTensor {
  redistribution::Shape shape;
  redistribution::Shape stride;  // in elements; one per dimension
  AtenType type = AtenType::kFloat32;

  friend bool operator==(const AtenTensor&, const AtenTensor&) = default;
};

// What the largest device holds: every axis divides and rounds up, in the order in which the axes
// cut.
redistribution::Shape local_shape(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                                  const redistribution::Placement& placement);
std::int64_t local_bytes(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                         const redistribution::Placement& placement);

}  // namespace shardwright::operators
