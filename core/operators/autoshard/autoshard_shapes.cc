#include "core/operators/autoshard/autoshard_shapes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/operators/graph/op_graph.h"
#include "core/text/extents.h"

namespace shardwright::operators::autoshard {
namespace {

using Shape = Extents;

std::optional<Shape> broadcast_all(const std::vector<Shape>& shapes) {
  std::optional<Shape> result = Shape();
  for (const Shape& shape : shapes) {
    if (result) result = broadcast(*result, shape);
  }
  return result;
}

// As torch.matmul: a vector is a row on the left and a column on the right, and the products of
// batches are broadcast.
std::optional<Shape> product(Shape a, Shape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return std::nullopt;
  std::optional<Shape> result =
      broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!result) return std::nullopt;
  if (!is_row) result->push_back(a[a.size() - 2]);
  if (!is_column) result->push_back(b.back());
  return result;
}

std::int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

bool has_same_extents(Shape a, Shape b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool differs_in_last_only(const Shape& a, const Shape& b) {
  return !a.empty() && a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

// Why the shape of an op does not follow from those that it reads; empty if it does.
std::string_view mistake(OpKind kind, const std::vector<Shape>& read, const Shape& shape) {
  switch (kind) {
    case OpKind::kPlaceholder:
      return "";
    case OpKind::kElementwise:
      if (std::find(read.begin(), read.end(), shape) != read.end()) return "";
      return broadcast_all(read) == shape ? "" : "its result has the shape of what it reads";
    case OpKind::kBinary:
      return broadcast_all(read) == shape ? "" : "its result has the broadcast shape of both";
    case OpKind::kLayerNorm:
    case OpKind::kSoftmax:
      return read[0] == shape ? "" : "its result has the shape of what it reads";
    case OpKind::kView:
      return elements(read[0]) == elements(shape) ? "" : "it keeps the number of elements";
    case OpKind::kPermute:
    case OpKind::kTranspose:
      return has_same_extents(read[0], shape) ? "" : "it keeps the extents, in another order";
    case OpKind::kMatmul:
      if (read.size() == 1)
        return differs_in_last_only(read[0], shape) ? "" : "it changes the last extent only";
      return product(read[0], read[1]) == shape
                 ? ""
                 : "the last extent of the first factor is the last but one of the second, and the "
                   "result has the other two";
  }
  return "";
}

}  // namespace

Status check_shapes(const Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Op& op = graph.op(i);
    std::vector<Shape> read;
    std::string names;
    for (const std::uint32_t arg : op.args) {
      read.push_back(graph.op(arg).shape);
      names += (names.empty() ? "" : " and ") + ("\"" + graph.op(arg).name + "\" of shape ") +
               extents_text(read.back());
    }
    const std::string_view why = mistake(op.kind, read, op.shape);
    if (why.empty()) continue;
    return invalid_input("/graph/" + std::to_string(i) + "/shape",
                         std::string(name_of(op.kind)) + " of " + names + " does not give " +
                             extents_text(op.shape) + ": " + std::string(why) +
                             "; correct one of the shapes");
  }
  return {};
}

}  // namespace shardwright::operators::autoshard
