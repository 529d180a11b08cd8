#include "core/operators/aten/graph/aten_tensor.h"

#include <array>

#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright::operators {
namespace {

using redistribution::MeshShape;
using redistribution::Placement;
using redistribution::Shape;

struct TypeInfo {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<TypeInfo, kNumAtenTypes> kTypes{{
    {"float64", 8},
    {"float32", 4},
    {"float16", 2},
    {"bfloat16", 2},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"int64", 8},
    {"int32", 4},
    {"int16", 2},
    {"int8", 1},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"bool", 1},
    {"complex64", 8},
    {"complex128", 16},
}};

constexpr std::array<std::string_view, kNumAtenTypes> names() {
  std::array<std::string_view, kNumAtenTypes> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = kTypes[i].name;
  return names;
}
constexpr std::array<std::string_view, kNumAtenTypes> kNames = names();

}  // namespace

std::span<const std::string_view> aten_type_names() { return kNames; }

std::int64_t bytes_of(AtenType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

Shape local_shape(const AtenTensor& tensor, const MeshShape& mesh, const Placement& placement) {
  return redistribution::shape_of(
      redistribution::box_of(tensor.shape, mesh, placement, 0, redistribution::Rounding::kCeil));
}

std::int64_t local_bytes(const AtenTensor& tensor, const MeshShape& mesh,
                         const Placement& placement) {
  return redistribution::num_elements(local_shape(tensor, mesh, placement)) * bytes_of(tensor.type);
}

}  // namespace shardwright::operators
