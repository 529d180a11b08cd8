// Readers of lists and shapes, with their JSON shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Calls read(element, out) for each element of a list. Null is an error.
template <class T, class Read>
Status read_list(JsonValue value, std::vector<T>& out, const Read& read) {
  if (!value.is_array()) return value.expected("a list");
  out.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read(value[i], out[i]));
  return {};
}

// Return a function that reads a list, and the shape of such a list. Null is an error. `out` and
// `read` must outlive the function.
template <class T, class Read>
auto list_into(std::vector<T>& out, const Read& read) {
  return [&out, &read](JsonValue value) { return read_list(value, out, read); };
}
template <class T>
auto list_into(std::vector<T>& out) {
  return [&out](JsonValue value) {
    return read_list(value, out, [](JsonValue v, T& element) { return read_value(v, element); });
  };
}
template <class T>
JsonShape list_of() {
  return json::list(shape_of(T{}));
}

// Reads extents or strides, at most kMaxDims.
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
inline JsonShape extents_shape() { return json::list(json::integer()).or_null(); }

}  // namespace shardwright
