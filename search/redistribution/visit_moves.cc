#include "search/redistribution/visit_moves.h"

#include <algorithm>

namespace shardwright::redistribution {

MoveVisitor::MoveVisitor(const TensorOnMesh& tensor, const MoveRules& rules, const Placement& aim)
    : tensor_(tensor), rules_(rules), aim_(aim) {
  const auto num_sets = std::uint32_t{1} << tensor.mesh.size();
  for (const std::int64_t size : tensor.shape) {
    for (std::uint32_t set = 0; set < num_sets; ++set) {
      std::int64_t count = 1;
      for (std::size_t axis = 0; axis < tensor.mesh.size(); ++axis)
        count *= (set >> axis & 1) != 0 ? tensor.mesh[axis] : 1;
      pieces_.push_back({(size + count - 1) / count, size % count == 0});
    }
  }
}

void MoveVisitor::load(const Placement& from) {
  from_ = from;
  parts_ = 1;
  for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
    dims_[dim] = {};
  partial_ = 0;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    partial_ |= from.is_partial(axis) ? std::uint32_t{1} << axis : 0;
    if (!from.is_shard(axis)) continue;
    Dim& own = dims_[from.dim(axis)];
    own.axes.resize(std::max(own.axes.size(), from.index(axis) + 1));
    own.axes[from.index(axis)] = static_cast<std::uint8_t>(axis);
    own.set |= std::uint32_t{1} << axis;
    parts_ *= tensor_.mesh[axis];
  }
  held_ = 1;
  for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim) {
    dims_[dim].others = held_;
    held_ *= pieces(dim, dims_[dim].set).largest;
  }
  std::int64_t later = 1;
  for (std::size_t dim = tensor_.shape.size(); dim-- > 0;) {
    dims_[dim].others *= later;
    later *= pieces(dim, dims_[dim].set).largest;
  }
}

bool MoveVisitor::may_exchange(std::size_t from, std::size_t to) const {
  if (!rules_.colossal) return true;
  const std::size_t axes = dims_[to].axes.size();
  return dims_[from].axes.size() == 1 && (axes == 0 || (axes == 1 && to < from));
}

bool MoveVisitor::is_wanted(std::size_t axis, std::size_t dim) const {
  if (!aim_.is_shard(axis) || aim_.dim(axis) != dim) return false;
  const Axes wanted = aim_.axes_of(dim);
  const Axes& now = dims_[dim].axes;
  return aim_.index(axis) == now.size() && std::equal(now.begin(), now.end(), wanted.begin());
}

bool MoveVisitor::may_slice(std::size_t axis, std::size_t dim) const {
  const bool wanted = is_wanted(axis, dim);
  if (!wanted && !rules_.detours) return false;
  return may_be(dim, dims_[dim].set | std::uint32_t{1} << axis) ||
         (wanted && dims_[dim].axes.empty());
}

// A product cannot become partial: a device cannot split its value into factors.
bool MoveVisitor::may_become_partial(ReduceOp op) const {
  return op != ReduceOp::kProduct && from_.commutes(op);
}

bool MoveVisitor::joint_axes(std::uint32_t set, Move& move) const {
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    if ((set >> axis & 1) == 0) continue;
    if (!move.axes.empty() && from_.reduce_op(axis) != move.reduce_op) return false;
    move.reduce_op = from_.reduce_op(axis);
    move.axes.push_back(static_cast<std::uint8_t>(axis));
  }
  return true;
}

void MoveVisitor::find_roles() {
  num_roles_ = 0;
  wide_ = 0;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    const std::int64_t size = tensor_.mesh[axis];
    if (size == 1) continue;
    wide_ |= std::uint32_t{1} << axis;
    if (from_.is_replicate(axis)) continue;
    Role role;
    role.is_shard = from_.is_shard(axis);
    if (role.is_shard) role.dim = from_.dim(axis);
    if (!role.is_shard) role.reduce_op = from_.reduce_op(axis);
    std::size_t known = 0;
    while (known < num_roles_ &&
           (roles_[known].is_shard != role.is_shard || roles_[known].dim != role.dim ||
            roles_[known].reduce_op != role.reduce_op))
      ++known;
    if (known == num_roles_) roles_[num_roles_++] = role;
    roles_[known].devices *= size;
  }
}

bool MoveVisitor::next_order(Axes& axes) { return std::next_permutation(axes.begin(), axes.end()); }

}  // namespace shardwright::redistribution
