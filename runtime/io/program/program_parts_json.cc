#include "runtime/io/program/program_parts_json.h"

#include <string>
#include <utility>

namespace shardwright::internal {

using namespace program;

namespace {

Status read_dims(JsonValue value, std::vector<std::int64_t>& list) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, list));
  if (list.size() <= kMaxDims) return {};
  return value.error("a tensor has at most " + std::to_string(kMaxDims) +
                     " dimensions, this one has " + std::to_string(list.size()));
}

}  // namespace

Status read_extents(JsonValue value, Shape& out) {
  std::vector<std::int64_t> list;
  SHARDWRIGHT_RETURN_IF_ERROR(read_dims(value, list));
  for (std::size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] < 1) {
      return value[dim].error("an extent cannot be " + std::to_string(list[dim]) +
                              "; write the number of elements of the whole tensor");
    }
  }
  out.assign(list.begin(), list.end());
  return {};
}

Status read_var_extents(JsonValue value, Shape& out) {
  std::vector<std::int64_t> list;
  SHARDWRIGHT_RETURN_IF_ERROR(read_dims(value, list));
  for (std::size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] < 0 && !(dim == 0 && list[dim] == -1)) {
      return value[dim].error("an extent cannot be " + std::to_string(list[dim]) +
                              "; only the first may be -1, for the batch; write the number of "
                              "elements");
    }
  }
  out.assign(list.begin(), list.end());
  return {};
}

Status read_mapping(JsonValue value, DimsMapping& out) {
  std::vector<std::int64_t> list;
  SHARDWRIGHT_RETURN_IF_ERROR(read_dims(value, list));
  out.clear();
  for (std::size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] < -1 || list[dim] >= static_cast<std::int64_t>(kMaxMeshAxes)) {
      return value[dim].error("must be a mesh axis or -1, not " + std::to_string(list[dim]));
    }
    out.push_back(static_cast<DimsMapping::value_type>(list[dim]));
  }
  return {};
}

Status read_partial(JsonValue value, PartialAxes& out) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object from mesh axis to reduction");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string_view key = value[i].key();
    if (key.size() != 1 || key[0] < '0' || key[0] >= static_cast<char>('0' + kMaxMeshAxes)) {
      return value[i].error("\"" + std::string(key) + "\" is not the number of a mesh axis");
    }
    Reduction due = Reduction::kNone;
    SHARDWRIGHT_RETURN_IF_ERROR(named("reduction", reduction_names(), due)(value[i]));
    const auto axis = static_cast<std::size_t>(key[0] - '0');
    if (out.size() <= axis) out.resize(axis + 1, Reduction::kNone);
    out[axis] = due;
  }
  return {};
}

Status read_ranks(JsonValue value, std::vector<Rank>& out) {
  std::vector<std::int64_t> ids;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] > (1 << 30)) {
      return value[i].error("a rank is between 0 and 2^30, not " + std::to_string(ids[i]));
    }
    out.push_back(static_cast<Rank>(ids[i]));
  }
  return {};
}

Result<ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key, std::string_view ids_key,
                              std::vector<std::int64_t> shape, std::vector<Rank> ids) {
  Result<ProcessMesh> mesh = ProcessMesh::make(std::move(shape), std::move(ids));
  if (mesh.ok()) return mesh;
  const std::string_view key = mesh.error().where == "/shape" ? shape_key : ids_key;
  return invalid_input(value.pointer() + "/" + std::string(key), mesh.error().message);
}

}  // namespace shardwright::internal
