// What cases and programs have in common in files: meshes, mappings, shapes, names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/program/dist_attr.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright::internal {

// A function that reads one of `names`, which are numbered like the enumeration.
template <class Enum>
auto named(std::string_view what, std::span<const std::string_view> names, Enum& out) {
  return [what, names, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
}

// The extents of a tensor; where `open_batch`, the first may be -1.
Status read_extents(JsonValue value, bool open_batch, program::Shape& out);

// By dimension: a mesh axis, or -1. Whether the mesh has the axis is not checked.
Status read_mapping(JsonValue value, program::DimsMapping& out);

// {"0": "sum"}: by mesh axis what is due on it.
Status read_partial(JsonValue value, program::PartialAxes& out);

Status read_ranks(JsonValue value, std::vector<program::Rank>& out);

// `shape_key` and `ids_key` are the members of `value` from which shape and ids were read.
Result<program::ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key,
                                       std::string_view ids_key, std::vector<std::int64_t> shape,
                                       std::vector<program::Rank> ids);

}  // namespace shardwright::internal
