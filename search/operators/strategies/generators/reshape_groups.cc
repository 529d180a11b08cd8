#include "search/operators/strategies/generators/reshape_groups.h"

#include <algorithm>

namespace shardwright::operators::internal {
namespace {

// One side of the walk from the last dimension to the first.
struct Side {
  std::span<const std::int64_t> shape;
  std::size_t taken = 0;  // dimensions before the current one, from the last
  std::int64_t size = 0;  // of the group so far
  std::vector<std::size_t> dims;

  explicit Side(std::span<const std::int64_t> of) : shape(of) { restart(); }

  bool done() const { return taken == shape.size(); }
  std::size_t current() const { return shape.size() - 1 - taken; }

  // Starts a group with the current dimension, or an empty one of size 1 if none is left.
  void restart() {
    size = done() ? 1 : shape[current()];
    dims.clear();
    if (!done()) dims.push_back(current());
  }
  // Adds the next dimension to the group. Returns false if there is none.
  bool extend() {
    ++taken;
    if (taken >= shape.size()) return false;
    size *= shape[current()];
    dims.push_back(current());
    return true;
  }
  // Starts a group with the rest of the current dimension, of which the other side's group of size
  // `divisor` has taken its part.
  void keep_rest(std::int64_t divisor) {
    size /= divisor;
    dims.assign(1, current());
  }
  // Makes a group of the rest of the current dimension and of the dimension before it.
  bool step_over() {
    ++taken;
    if (taken >= shape.size()) return false;
    size = shape[current()];
    dims.assign({current(), current() + 1});
    return true;
  }
};

// Goes on when the group of `large` is larger than that of `small`. If `large` was extended last,
// the group is closed and the rest of its current dimension starts the next one. Otherwise `small`
// is extended.
bool advance(Side& large, Side& small, bool large_was_extended, bool& small_extended, bool& reset,
             const auto& close) {
  if (!large_was_extended) {
    small_extended = true;
    return small.extend();
  }
  close();
  large.keep_rest(small.size);
  reset = true;
  return small.step_over();
}

enum class Extended : unsigned char { kNone, kFrom, kTo };

}  // namespace

std::optional<std::vector<ReshapeGroup>> reshape_groups(std::span<const std::int64_t> from_shape,
                                                        std::span<const std::int64_t> to_shape) {
  Side from(from_shape);
  Side to(to_shape);
  std::vector<ReshapeGroup> groups;
  const auto close = [&] { groups.push_back({from.dims, to.dims}); };
  Extended extended = Extended::kNone;
  while (!from.done() || !to.done()) {
    bool reset = false;
    bool other_extended = false;
    if (from.size == to.size) {
      close();
      if (!from.dims.empty()) ++from.taken;
      if (!to.dims.empty()) ++to.taken;
      from.restart();
      to.restart();
      reset = true;
    } else if (from.size > to.size) {
      if (!advance(from, to, extended == Extended::kFrom, other_extended, reset, close))
        return std::nullopt;
      if (other_extended) extended = Extended::kTo;
    } else {
      if (!advance(to, from, extended == Extended::kTo, other_extended, reset, close))
        return std::nullopt;
      if (other_extended) extended = Extended::kFrom;
    }
    if (reset) extended = Extended::kNone;
  }
  return groups;
}

std::optional<DimSpecs> reshape_placement(const std::vector<ReshapeGroup>& groups,
                                          const DimSpecs& from, std::size_t to_rank) {
  DimSpecs to(to_rank);
  for (const ReshapeGroup& group : groups) {
    if (group.from.empty()) continue;
    const std::size_t first = *std::min_element(group.from.begin(), group.from.end());
    for (const std::size_t dim : group.from) {
      if (dim != first && !from[dim].replicated()) return std::nullopt;
    }
    if (from[first].replicated()) continue;
    if (group.to.empty()) return std::nullopt;
    to = to.with(*std::min_element(group.to.begin(), group.to.end()), from[first]);
  }
  return to;
}

}  // namespace shardwright::operators::internal
