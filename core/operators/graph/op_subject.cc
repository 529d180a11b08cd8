#include "core/operators/graph/op_subject.h"

#include <vector>

namespace shardwright::operators::internal {

Status check_dims(const OpSubject& s, std::size_t count) {
  const auto rank = static_cast<std::int64_t>(s.in().size());
  const std::vector<std::int64_t>& dims = s.node.attrs.dims;
  if (count != 0 && dims.size() != count) {
    return s.error("/attrs", "needs " + std::to_string(count) + " dimensions, has " +
                                 std::to_string(dims.size()));
  }
  for (const std::int64_t dim : dims) {
    if (dim < -rank || dim >= rank) {
      return s.error("/attrs", "dimension " + std::to_string(dim) + " is out of range for " +
                                   extents_text(s.in()));
    }
  }
  return {};
}

bool is_countable(const Extents& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent > OpGraph::kMaxElements / product) return false;
    product *= extent;
  }
  return true;
}

}  // namespace shardwright::operators::internal
