// What a lower bound knows of a placement.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {

// Mesh axes as bits.
using AxisSet = std::uint32_t;

// Each axis is replicated (in no set), or as in the target, or otherwise as in the source, or
// otherwise sharded or partial. With groups of axes a pattern also tells which axes shard the
// dimension that the target wants and are not as there, if they have others outside there: a
// permutation of devices may put those right. An axis shards as in another placement if it cuts the
// same dimension there and the axes outside it are the same. Thread safety: a value.
struct Pattern {
  AxisSet as_target = 0;
  AxisSet as_source = 0;
  AxisSet astray = 0;     // sharded in the dimension of the target
  AxisSet elsewhere = 0;  // sharded
  AxisSet partial = 0;

  AxisSet any() const { return as_target | as_source | astray | elsewhere | partial; }
};

// The patterns between two placements.
// Thread safety: const members may be called from any thread.
class PatternSpace {
 public:
  // `groups`: devices may change places.
  PatternSpace(std::size_t num_axes, const Placement& source, const Placement& target, bool groups);

  // O(axes).
  Pattern pattern_of(const Placement& at) const;
  // Numbers from 0 to size() - 1.
  std::size_t index_of(const Pattern& pattern) const {
    return digits_[pattern.as_target] + 2 * digits_[pattern.as_source] +
           3 * digits_[pattern.elsewhere] + 4 * digits_[pattern.astray] +
           5 * digits_[pattern.partial];
  }
  std::size_t size() const { return size_; }

  AxisSet sharded(const Pattern& pattern) const {
    return pattern.elsewhere | pattern.astray | (pattern.as_target & target_.shards) |
           (pattern.as_source & source_.shards);
  }
  AxisSet partial(const Pattern& pattern) const { return pattern.any() & ~sharded(pattern); }

  // Returns true unless no placement has the pattern: an axis is as in the target or the source
  // only if those outside it are, and axes of the source lie in the way of those of the target.
  bool is_possible(const Pattern& pattern) const {
    const AxisSet both = pattern.as_target & common_;
    return target_.sets[pattern.as_target & target_.shards].is_closed &&
           source_.sets[(pattern.as_source & source_.shards) | both].is_closed &&
           (target_.sets[pattern.as_target & ~both].dims & source_.sets[pattern.as_source].dims) ==
               0;
  }
  // The dimensions that these axes shard, as bits, as far as the pattern tells.
  std::uint32_t dims(const Pattern& pattern, AxisSet axes) const {
    return target_.sets[(pattern.as_target | pattern.astray) & axes].dims |
           source_.sets[pattern.as_source & axes].dims;
  }

  // Calls visit(Pattern) for the patterns in which these axes, replicated in `rest`, are all
  // sharded or all partial. Not all of them are possible.
  template <class Visit>
  void for_each_sharded(const Pattern& rest, AxisSet axes, const Visit& visit) const {
    const auto visit_choice = [&](Pattern pattern, AxisSet left) {
      for_each_part_or_none(left & may_be_astray_, [&](AxisSet astray) {
        pattern.astray = rest.astray | astray;
        pattern.elsewhere = rest.elsewhere | (left & ~astray);
        visit(pattern);
      });
    };
    for_each_choice(rest, axes, target_.shards, source_.shards, visit_choice);
  }
  template <class Visit>
  void for_each_partial(const Pattern& rest, AxisSet axes, const Visit& visit) const {
    const auto visit_choice = [&](Pattern pattern, AxisSet left) {
      if ((left & ~moved_partial_) != 0) return;
      pattern.partial |= left;
      visit(pattern);
    };
    for_each_choice(rest, axes, target_.partial, source_.partial, visit_choice);
  }

 private:
  // What a set of axes is in a placement.
  struct SetFacts {
    bool is_closed;      // with every axis it has those outside it
    std::uint32_t dims;  // the dimensions that its axes shard, as bits
  };
  // One of the two placements.
  struct End {
    End(const Placement& end, std::size_t num_axes);
    // The axes, of those that are as in this placement, whose outer axes are, too.
    AxisSet aligned(AxisSet equal) const;

    Placement placement;
    AxisSet shards = 0;
    AxisSet partial = 0;
    std::array<AxisSet, kMaxMeshAxes> outside{};  // by axis: those outside it in its dimension
    std::vector<SetFacts> sets;                   // by set
  };

  template <class Visit>
  static void for_each_part_or_none(AxisSet whole, const Visit& visit) {
    for (AxisSet part = whole;; part = (part - 1) & whole) {
      visit(part);
      if (part == 0) return;
    }
  }
  // Calls visit(Pattern, axes): some of the axes are as in the target and some as in the source,
  // and `axes` are those that are still open.
  template <class Visit>
  static void for_each_choice(const Pattern& rest, AxisSet axes, AxisSet target, AxisSet source,
                              const Visit& visit) {
    for_each_part_or_none(axes & target, [&](AxisSet first) {
      for_each_part_or_none(axes & ~first & source, [&](AxisSet second) {
        Pattern pattern = rest;
        pattern.as_target |= first;
        pattern.as_source |= second;
        visit(pattern, axes & ~first & ~second);
      });
    });
  }

  std::size_t num_axes_;
  End target_;
  End source_;
  AxisSet common_ = 0;  // axes that shard the same way in both
  AxisSet may_be_astray_ = 0;
  AxisSet moved_partial_ = 0;        // axes that may be partial and in neither are so
  std::vector<std::size_t> digits_;  // by set: a digit 1 for each axis
  std::size_t size_;
};

}  // namespace shardwright::redistribution
