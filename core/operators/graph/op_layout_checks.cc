#include "core/operators/graph/op_layout_checks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace shardwright::operators::internal {
namespace {

std::int64_t elements(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Status check_permutation(const OpSubject& s) {
  const bool transpose = s.node.kind == OpKind::kTranspose;
  SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, transpose ? 2 : s.in().size()));
  std::vector<std::size_t> order(s.in().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<std::size_t> dims = op_dims(s.node.attrs, s.in().size());
  if (transpose) {
    std::swap(order[dims[0]], order[dims[1]]);
  } else {
    order = dims;
  }
  Extents expected;
  for (const std::size_t dim : order)
    expected.push_back(s.in()[dim]);
  std::sort(order.begin(), order.end());
  if (std::adjacent_find(order.begin(), order.end()) != order.end())
    return s.error("/attrs/dims", "must name every dimension once");
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_reshape(const OpSubject& s) {
  std::int64_t count = 0;
  for (const Extents& shape : s.node.shapes)
    count += elements(shape);
  if (count != elements(s.in()))
    return s.error("/shape", "must have as many elements as " + extents_text(s.in()));
  return {};
}

Status check_split(const OpSubject& s) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, 1));
  const std::size_t dim = op_dims(s.node.attrs, s.in().size())[0];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < s.node.shapes.size(); ++i) {
    Extents piece = s.node.shapes[i];
    if (piece.size() != s.in().size())
      return s.error("/shape/" + std::to_string(i), "must have as many dimensions as the input");
    sum += piece[dim];
    piece[dim] = s.in()[dim];
    if (piece != s.in())
      return s.error("/shape/" + std::to_string(i), "must differ from the input in one dimension");
  }
  if (sum != s.in()[dim]) return s.error("/shape", "the pieces do not add up to the input");
  return {};
}

Status check_getitem(const OpSubject& s) {
  const std::vector<IndexEntry>& index = s.node.attrs.index;
  if (index.empty()) return s.error("/attrs/index", "must not be empty");
  if (s.input(0).tuple) {
    const auto count = static_cast<std::int64_t>(s.input(0).shapes.size());
    if (s.node.attrs.index_is_list || !index[0].number || *index[0].number < -count ||
        *index[0].number >= count)
      return s.error("/attrs/index", "must be the number of an element of the tuple");
    const std::int64_t number = *index[0].number;
    const Extents& element =
        s.input(0).shapes[static_cast<std::size_t>(number < 0 ? number + count : number)];
    if (s.out() != element) return s.wrong_output(element);
    return {};
  }
  if (index.size() > s.in().size())
    return s.error("/attrs/index",
                   "has more entries than " + extents_text(s.in()) + " has dimensions");
  const auto numbers = static_cast<std::size_t>(
      std::count_if(index.begin(), index.end(),
                    [](const IndexEntry& entry) { return entry.number.has_value(); }));
  if (s.out().size() + numbers != s.in().size())
    return s.error("/shape", "must have one dimension less for every number of the index");
  return {};
}

Status check_sum(const OpSubject& s) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, 0));
  const std::vector<std::size_t> dims = op_dims(s.node.attrs, s.in().size());
  Extents expected;
  for (std::size_t d = 0; d < s.in().size(); ++d) {
    const bool summed = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!summed) expected.push_back(s.in()[d]);
    if (summed && s.node.attrs.keepdim) expected.push_back(1);
  }
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

}  // namespace

Status check_layout(const OpSubject& s) {
  switch (s.node.kind) {
    case OpKind::kTranspose:
    case OpKind::kPermute:
      return check_permutation(s);
    case OpKind::kSplit:
      return check_split(s);
    case OpKind::kGetitem:
      return check_getitem(s);
    case OpKind::kSum:
      return check_sum(s);
    default:
      return check_reshape(s);
  }
}

}  // namespace shardwright::operators::internal
