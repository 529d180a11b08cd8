// Reads the parts that reshard cases and programs have in common: meshes, mappings, shapes, names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/program/dist_attr.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright::internal {

// Returns a function that reads one of `names`; name i stands for value i of the enumeration.
template <class Enum>
auto named(std::string_view what, std::span<const std::string_view> names, Enum& out) {
  return [what, names, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
}

// Reads the extents of a tensor of a resharding case, which are positive.
Status read_extents(JsonValue value, program::Shape& out);

// Reads the extents of a variable of a program. An extent may be 0, and the first one -1 for the
// batch.
Status read_var_extents(JsonValue value, program::Shape& out);

// Reads a mesh axis or -1 for each dimension. Does not check that the mesh has the axis.
Status read_mapping(JsonValue value, program::DimsMapping& out);

// Reads {"0": "sum"}: the pending reduction by mesh axis.
Status read_partial(JsonValue value, program::PartialAxes& out);

Status read_ranks(JsonValue value, std::vector<program::Rank>& out);

// Makes a mesh. Errors name `shape_key` or `ids_key`, the members of `value` that were read.
Result<program::ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key,
                                       std::string_view ids_key, std::vector<std::int64_t> shape,
                                       std::vector<program::Rank> ids);

}  // namespace shardwright::internal
