// Readers of lists, shapes, element types and words from a vocabulary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Calls read(element, out) for each element of a list.
template <class T, class Read>
Status read_list(JsonValue value, std::vector<T>& out, const Read& read) {
  if (!value.is_array()) return value.expected("a list");
  out.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read(value[i], out[i]));
  return {};
}

// A list of extents or strides, of at most kMaxDims entries.
inline Status read_shape(JsonValue value, redistribution::Shape& out) {
  std::vector<std::int64_t> extents;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, extents));
  if (extents.size() > redistribution::kMaxDims) {
    return value.error("a tensor has at most " + std::to_string(redistribution::kMaxDims) +
                       " dimensions");
  }
  out.assign(extents.begin(), extents.end());
  return {};
}

// A torch type without "torch.".
inline Status read_type(JsonValue value, operators::AtenType& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                               read_choice(value, "dtype", operators::aten_type_names()));
  out = static_cast<operators::AtenType>(index);
  return {};
}

// Returns a function that reads one of `names`; name i stands for value i of the enumeration.
// Errors call the names `what`.
template <class Enum, std::size_t kSize>
auto read_word(std::string_view what, const std::array<std::string_view, kSize>& names, Enum& out) {
  return [what, &names, &out](JsonValue v) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(v, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
}

}  // namespace shardwright
