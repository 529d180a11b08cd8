#include "search/redistribution/path/direct_path.h"

#include <algorithm>
#include <cmath>

#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

class Director {
 public:
  Director(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source)
      : tensor_(tensor), costs_(costs), at_(source), held_(held(source)) {
    path_.is_optimal = false;
    path_.peak_elements = held_;
  }

  Path run(const Placement& target) {
    reduce(target);
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
      gather(dim, target);
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if (target.is_partial(axis) && !at_.is_partial(axis))
        add({Kind::kToPartial, one(axis), 0, 0, target.reduce_op(axis)});
    }
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
      slice(dim, target);
    path_.found = std::isfinite(path_.cost);
    if (!path_.found) path_.steps.clear();
    return std::move(path_);
  }

 private:
  static Axes one(std::size_t axis) { return Axes(1, static_cast<std::uint8_t>(axis)); }
  std::int64_t held(const Placement& at) const {
    return largest_box(tensor_.shape, tensor_.mesh, at);
  }

  std::int64_t parts(const Placement& at) const {
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis)
      parts *= at.is_shard(axis) ? tensor_.mesh[axis] : 1;
    return parts;
  }

  void reduce(const Placement& target) {
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if (at_.is_partial(axis) && target.on(axis) != at_.on(axis))
        add({Kind::kAllReduce, one(axis), 0, 0, at_.reduce_op(axis)});
    }
  }

  void gather(std::size_t dim, const Placement& target) {
    const Axes wanted = target.axes_of(dim);
    Axes now = at_.axes_of(dim);
    const auto same =
        std::mismatch(now.begin(), now.end(), wanted.begin(), wanted.end()).first - now.begin();
    for (; static_cast<std::ptrdiff_t>(now.size()) > same; now.pop_back())
      add({Kind::kAllGather, one(now.back()), static_cast<std::uint8_t>(dim), 0, ReduceOp::kSum});
  }

  void slice(std::size_t dim, const Placement& target) {
    const Axes wanted = target.axes_of(dim);
    for (std::size_t i = at_.num_axes(dim); i < wanted.size(); ++i)
      add({Kind::kSplit, one(wanted[i]), 0, static_cast<std::uint8_t>(dim), ReduceOp::kSum});
  }

  void add(const Move& move) {
    const Placement next = after(at_, move);
    const std::int64_t held_after = held(next);
    const double cost = costs_.cost({move, held_, held_after, parts(at_)});
    path_.steps.push_back({move, next, cost});
    path_.cost += cost;
    path_.peak_elements = std::max(path_.peak_elements, held_ + held_after);
    at_ = next;
    held_ = held_after;
  }

  const TensorOnMesh& tensor_;
  const StepCosts& costs_;
  Placement at_;
  std::int64_t held_;
  Path path_;
};

}  // namespace

Path direct_path(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source,
                 const Placement& target) {
  return Director(tensor, costs, source).run(target);
}

}  // namespace shardwright::redistribution
