// A lower bound of the cost of a path, from a smaller problem over patterns of placements.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/redistribution/placement/placement.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::redistribution {

// Mesh axes as bits.
using AxisSet = std::uint32_t;

// An abstraction of a placement: each axis that is not replicated is in the first of these sets
// that applies. An axis is as in another placement if it is partial there with the same reduction,
// or shards the same dimension there after the same outer axes. (The outer axes of an axis are
// those that cut its dimension before it.) Axes can be astray only if moves over groups of axes are
// allowed. A permutation of devices may correct them. Thread safety: a value.
struct Pattern {
  AxisSet as_target = 0;
  AxisSet as_source = 0;
  AxisSet astray = 0;     // outer axes in the target; same dimension, but other outer axes
  AxisSet elsewhere = 0;  // sharded in any other way
  AxisSet partial = 0;

  AxisSet any() const { return as_target | as_source | astray | elsewhere | partial; }
};

// The patterns that placements may have, given a source and a target.
// Thread safety: const members may be called from any thread.
class PatternSpace {
 public:
  // `groups`: moves over several axes at once and permutations of devices are allowed.
  PatternSpace(std::size_t num_axes, const Placement& source, const Placement& target, bool groups);

  // Returns the pattern of a placement. O(axes).
  Pattern pattern_of(const Placement& at) const;
  // Returns a number from 0 to size() - 1, different for each pattern.
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

  // Returns false only if no placement has the pattern. If an axis is as in the target (the
  // source), so are its outer axes there. A dimension with axes as in the source has no axes that
  // are as in the target only.
  bool is_possible(const Pattern& pattern) const {
    const AxisSet both = pattern.as_target & common_;
    return target_.sets[pattern.as_target & target_.shards].is_closed &&
           source_.sets[(pattern.as_source & source_.shards) | both].is_closed &&
           (target_.sets[pattern.as_target & ~both].dims & source_.sets[pattern.as_source].dims) ==
               0;
  }
  // Returns the dimensions that these axes shard, as bits, as far as the pattern tells.
  std::uint32_t dims(const Pattern& pattern, AxisSet axes) const {
    return target_.sets[(pattern.as_target | pattern.astray) & axes].dims |
           source_.sets[pattern.as_source & axes].dims;
  }

  // Calls visit(Pattern) for each pattern that differs from `rest` in this: the axes `axes`,
  // replicated in `rest`, are all sharded (all partial). Includes impossible patterns.
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
  // Facts about a set of axes in a placement.
  struct SetFacts {
    bool is_closed;      // the set contains all outer axes of its axes
    std::uint32_t dims;  // the dimensions that its axes shard, as bits
  };
  // The source or the target.
  struct End {
    End(const Placement& end, std::size_t num_axes);
    // Returns the axes of `equal` whose outer axes are all in `equal`.
    AxisSet aligned(AxisSet equal) const;

    Placement placement;
    AxisSet shards = 0;
    AxisSet partial = 0;
    std::array<AxisSet, kMaxMeshAxes> outside{};  // by axis: its outer axes
    std::vector<SetFacts> sets;                   // indexed by AxisSet
  };

  template <class Visit>
  static void for_each_part_or_none(AxisSet whole, const Visit& visit) {
    for (AxisSet part = whole;; part = (part - 1) & whole) {
      visit(part);
      if (part == 0) return;
    }
  }
  // Calls visit(Pattern, left) for every way to make some of `axes` as in the target and some as in
  // the source. `left`: the remaining axes.
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
  AxisSet common_ = 0;  // axes that shard alike in source and target
  AxisSet may_be_astray_ = 0;
  AxisSet moved_partial_ = 0;        // axes that may be partial, but not as in source or target
  std::vector<std::size_t> digits_;  // by set: sum of the place values of its axes
  std::size_t size_;
};

// Calls visit(set) for every non-empty subset of `whole`; without `groups` for single axes only.
template <class Visit>
void for_each_part(AxisSet whole, bool groups, const Visit& visit) {
  if (groups) {
    for (AxisSet part = whole; part != 0; part = (part - 1) & whole)
      visit(part);
  } else {
    for (AxisSet rest = whole; rest != 0; rest &= rest - 1)
      visit(rest & (~rest + 1));
  }
}

// Lower bounds of the costs of moves, from the sets of sharded and moved axes without their
// dimensions. If pieces are uneven, the elements of the largest device depend on the dimensions. A
// monotone model is therefore asked for the least possible number of elements, any other model for
// all possible numbers. The model is asked once for each kind of move and sets of axes.
// Thread safety: one thread at a time.
class SetCosts {
 public:
  // Refers to its arguments. O(4^axes) memory.
  SetCosts(const TensorOnMesh& tensor, const StepCosts& costs);

  // Returns the least cost of a move of `axes`. `sharded`: all axes that are sharded before the
  // move. Gathers and exchanges need all of `axes` in `sharded`, other moves none of them.
  double least(Move::Kind kind, AxisSet axes, AxisSet sharded);
  // Returns the least cost of an exchange of `axes`. With `groups`, others may move, too.
  double least_exchange(AxisSet axes, AxisSet sharded, bool groups);
  // Returns the least cost of a permutation of devices along `axes`, or along two axes with them.
  double least_permute(AxisSet axes, AxisSet sharded);
  // Returns the product of the sizes of these axes.
  std::int64_t parts(AxisSet axes) const;

 private:
  double price(Move::Kind kind, AxisSet axes, AxisSet sharded);
  std::int64_t least_held(AxisSet sharded) const;
  // Returns all possible numbers of elements of the largest device, ascending.
  const std::vector<std::int64_t>& all_held(AxisSet sharded);
  void add_held(std::size_t dim, AxisSet left, std::int64_t held,
                std::vector<std::int64_t>& all) const;
  // Returns a number to base 3 with a digit per axis: not sharded, sharded but not moved, moved.
  std::size_t index_of(AxisSet axes, AxisSet sharded) const {
    return digits_[sharded | axes] + digits_[axes];
  }

  const TensorOnMesh& tensor_;
  const StepCosts& costs_;
  std::int64_t elements_;
  std::vector<double> table_;      // by kind and index_of(); -1: not known yet
  std::vector<double> exchanges_;  // by index_of(); -1: not known yet
  std::map<std::pair<AxisSet, AxisSet>, double> permutes_;  // by moved and sharded axes
  std::vector<std::vector<std::int64_t>> held_;             // by set; empty: not known yet
  std::vector<std::size_t> digits_;  // by set: the sum of 3^axis over its axes
  std::size_t table_size_;
};

// A consistent lower bound of the cost from a placement to the target. Every move of the tensor
// corresponds to a move between patterns that costs at most as much, so the cheapest path between
// patterns is a bound. Dijkstra's algorithm finds it, backwards from the target and only as far as
// left() needs. Thread safety: one thread at a time.
class CostEstimate {
 public:
  // Refers to `tensor` and `costs`. Paths that cost more than `most` do not matter.
  CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs, bool groups,
               const Placement& source, const Placement& target, double most);

  // Returns the lower bound of paths from `at`; infinity if it exceeds `most`. O(axes) if the bound
  // is known already. All calls together O(4^axes * axes), with groups O(8^axes).
  double left(const Placement& at);

 private:
  struct Entry {
    double cost;
    std::size_t index;
    Pattern pattern;

    friend bool operator<(const Entry& a, const Entry& b) { return a.cost > b.cost; }
  };

  struct Bound {
    double cost = std::numeric_limits<double>::infinity();
    bool is_settled = false;
  };

  // What decides which permutations of devices a pattern has: its sharded and partial axes, the
  // numbers of devices along them, and for each dimension a divisor of its number of pieces.
  struct Cuts {
    AxisSet sharded = 0;
    AxisSet partial = 0;
    std::int64_t parts = 1;
    std::int64_t terms = 1;
    std::array<std::int64_t, kMaxDims> pieces = {1, 1, 1, 1, 1, 1, 1, 1, 1};

    friend auto operator<=>(const Cuts&, const Cuts&) = default;
  };
  struct Alike {
    std::vector<Pattern> patterns;
    bool is_met = false;  // a pattern was settled
  };

  // Returns true if `cost` is below the known cost from the pattern, and at most most_.
  bool is_news(const Pattern& from, double cost) const {
    return cost < left_[space_.index_of(from)].cost && cost <= most_;
  }
  void settle_next();
  void reach(const Pattern& from, double cost);
  void before_replicas(const Pattern& to, double cost, AxisSet axes);
  void before_shards(const Pattern& to, double cost, AxisSet axes);
  void before_partial(const Pattern& to, double cost);
  void before_permutes(const Pattern& to, double cost);
  Cuts cuts_of(const Pattern& pattern) const;
  // Returns false only if no two placements with these cuts are permutations of each other.
  static bool may_be_equal(const Cuts& a, const Cuts& b);
  void list_alike();

  PatternSpace space_;
  SetCosts costs_;
  bool groups_;
  bool any_partial_;
  double most_;
  AxisSet all_;
  std::vector<Bound> left_;  // by index of the pattern
  std::vector<Entry> heap_;
  std::map<Cuts, Alike> alike_;  // by cuts; filled at the first permutation
};

}  // namespace shardwright::redistribution
