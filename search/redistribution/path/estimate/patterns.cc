#include "search/redistribution/path/estimate/patterns.h"

namespace shardwright::redistribution {
namespace {

AxisSet set_of(std::size_t axis) { return AxisSet{1} << axis; }

// The axes on which two placements do the same, replicated ones left out.
AxisSet equal_axes(const Placement& a, const Placement& b, std::size_t num_axes) {
  const std::uint64_t differing = a.code() ^ b.code();
  AxisSet equal = 0;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if (!a.is_replicate(axis) && (differing >> (8 * axis) & 0xff) == 0) equal |= set_of(axis);
  }
  return equal;
}

}  // namespace

PatternSpace::End::End(const Placement& end, std::size_t num_axes)
    : placement(end), sets(std::size_t{1} << num_axes, SetFacts{true, 0}) {
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if (end.is_partial(axis)) partial |= set_of(axis);
    if (!end.is_shard(axis)) continue;
    shards |= set_of(axis);
    for (std::size_t other = 0; other < num_axes; ++other) {
      if (end.is_shard(other) && end.dim(other) == end.dim(axis) &&
          end.index(other) < end.index(axis)) {
        outside[axis] |= set_of(other);
      }
    }
  }
  for (AxisSet set = 1; set < sets.size(); ++set) {
    const auto axis = static_cast<std::size_t>(std::countr_zero(set));
    sets[set] = sets[set & (set - 1)];
    sets[set].is_closed = aligned(set) == set;
    if (!end.is_shard(axis)) continue;
    sets[set].dims |= std::uint32_t{1} << end.dim(axis);
  }
}

AxisSet PatternSpace::End::aligned(AxisSet equal) const {
  AxisSet found = 0;
  for (AxisSet rest = equal; rest != 0; rest &= rest - 1) {
    const auto axis = static_cast<std::size_t>(std::countr_zero(rest));
    if ((outside[axis] & ~equal) == 0) found |= set_of(axis);
  }
  return found;
}

PatternSpace::PatternSpace(std::size_t num_axes, const Placement& source, const Placement& target,
                           bool groups)
    : num_axes_(num_axes),
      target_(target, num_axes),
      source_(source, num_axes),
      digits_(std::size_t{1} << num_axes),
      size_(1) {
  const bool any_partial = source.has_partial() || target.has_partial();
  const std::size_t kinds = !groups ? 4 : any_partial ? 6 : 5;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    for (AxisSet set = set_of(axis); set < set_of(axis + 1); ++set)
      digits_[set] = digits_[set ^ set_of(axis)] + size_;
    size_ *= kinds;
    if (groups && target_.outside[axis] != 0) may_be_astray_ |= set_of(axis);
  }
  common_ = source_.shards & target_.aligned(equal_axes(source, target, num_axes));
  if (groups && any_partial) moved_partial_ = set_of(num_axes) - 1;
}

Pattern PatternSpace::pattern_of(const Placement& at) const {
  Pattern pattern;
  pattern.as_target = target_.aligned(equal_axes(at, target_.placement, num_axes_));
  pattern.as_source =
      source_.aligned(equal_axes(at, source_.placement, num_axes_)) & ~pattern.as_target;
  for (std::size_t axis = 0; axis < num_axes_; ++axis) {
    if (at.is_replicate(axis) || ((pattern.any() >> axis) & 1) != 0) continue;
    if (at.is_partial(axis)) {
      pattern.partial |= set_of(axis);
    } else if ((may_be_astray_ >> axis & 1) != 0 && at.dim(axis) == target_.placement.dim(axis)) {
      pattern.astray |= set_of(axis);
    } else {
      pattern.elsewhere |= set_of(axis);
    }
  }
  return pattern;
}

}  // namespace shardwright::redistribution
