// A lower bound of path costs, from a smaller problem over patterns of placements.
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

// An abstraction of a placement that assigns every mesh axis to at most one set: as in the target;
// otherwise as in the source; otherwise sharded elsewhere or partial. Replicated axes are in no
// set. An axis shards as in another placement if it cuts the same dimension there after the same
// outer axes. With groups of axes there is a further set, `astray`: axes that have outer axes in
// the target and shard the same dimension as there, but after other outer axes; a permutation of
// devices may correct them. Thread safety: a value.
struct Pattern {
  AxisSet as_target = 0;
  AxisSet as_source = 0;
  AxisSet astray = 0;     // same dimension as in the target, other outer axes
  AxisSet elsewhere = 0;  // sharded
  AxisSet partial = 0;

  AxisSet any() const { return as_target | as_source | astray | elsewhere | partial; }
};

// The patterns between two placements.
// Thread safety: const members may be called from any thread.
class PatternSpace {
 public:
  // `groups`: moves over several axes at once and permutations of devices are allowed.
  PatternSpace(std::size_t num_axes, const Placement& source, const Placement& target, bool groups);

  // O(axes).
  Pattern pattern_of(const Placement& at) const;
  // From 0 to size() - 1, unique per pattern.
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

  // Returns false only if no placement has the pattern. An axis is as in the target (the source)
  // only if its outer axes are, and a dimension has axes as in the source or further ones as in the
  // target.
  bool is_possible(const Pattern& pattern) const {
    const AxisSet both = pattern.as_target & common_;
    return target_.sets[pattern.as_target & target_.shards].is_closed &&
           source_.sets[(pattern.as_source & source_.shards) | both].is_closed &&
           (target_.sets[pattern.as_target & ~both].dims & source_.sets[pattern.as_source].dims) ==
               0;
  }
  // The known dimensions that these axes shard, as bits.
  std::uint32_t dims(const Pattern& pattern, AxisSet axes) const {
    return target_.sets[(pattern.as_target | pattern.astray) & axes].dims |
           source_.sets[pattern.as_source & axes].dims;
  }

  // Calls visit(Pattern) for the patterns that equal `rest` except that these axes, replicated in
  // `rest`, are all sharded (all partial). Includes impossible patterns.
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
    bool is_closed;      // the set contains the outer axes of its axes
    std::uint32_t dims;  // the dimensions that its axes shard, as bits
  };
  // One of the two placements.
  struct End {
    End(const Placement& end, std::size_t num_axes);
    // Returns the axes of `equal` whose outer axes are all in `equal`.
    AxisSet aligned(AxisSet equal) const;

    Placement placement;
    AxisSet shards = 0;
    AxisSet partial = 0;
    std::array<AxisSet, kMaxMeshAxes> outside{};  // by axis: its outer axes in its dimension
    std::vector<SetFacts> sets;                   // by set
  };

  template <class Visit>
  static void for_each_part_or_none(AxisSet whole, const Visit& visit) {
    for (AxisSet part = whole;; part = (part - 1) & whole) {
      visit(part);
      if (part == 0) return;
    }
  }
  // Calls visit(Pattern, left) for every choice of axes as in target and source; `left`: the
  // others.
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
  AxisSet moved_partial_ = 0;        // axes that may be partial, but not as in source or target
  std::vector<std::size_t> digits_;  // by set: a digit 1 for each axis
  std::size_t size_;
};

// Calls visit(set) for every non-empty subset of `whole`, without `groups` only for single axes.
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

// Lower bounds of the costs of moves, given only the sets of sharded and moved axes, not their
// dimensions. The elements of the largest device then depend on the dimensions if pieces are
// uneven. A monotone model is asked for the least possible number of elements, any other model for
// all possible numbers. Asks the model once per kind and sets.
// Thread safety: one thread at a time.
class SetCosts {
 public:
  // Refers to its arguments. O(4^axes) memory.
  SetCosts(const TensorOnMesh& tensor, const StepCosts& costs);

  // The least cost of a move of `axes`. `sharded`: all axes that are sharded before the move;
  // contains `axes` for a gather or an exchange, but not for other moves.
  double least(Move::Kind kind, AxisSet axes, AxisSet sharded);
  // The least cost of an exchange of these axes and, with `groups`, maybe further sharded axes.
  double least_exchange(AxisSet axes, AxisSet sharded, bool groups);
  // The least cost of a permutation of devices along at least two axes: these and maybe others.
  double least_permute(AxisSet axes, AxisSet sharded);
  // The product of the sizes of these axes.
  std::int64_t parts(AxisSet axes) const;

 private:
  double price(Move::Kind kind, AxisSet axes, AxisSet sharded);
  std::int64_t least_held(AxisSet sharded) const;
  // The possible numbers of elements of the largest device, ascending.
  const std::vector<std::int64_t>& all_held(AxisSet sharded);
  void add_held(std::size_t dim, AxisSet left, std::int64_t held,
                std::vector<std::int64_t>& all) const;
  // A number to base 3 with a digit per axis: not sharded, sharded but not moved, moved.
  std::size_t index_of(AxisSet axes, AxisSet sharded) const {
    return digits_[sharded | axes] + digits_[axes];
  }

  const TensorOnMesh& tensor_;
  const StepCosts& costs_;
  std::int64_t elements_;
  std::vector<double> table_;      // by kind and index; below 0 is not known yet
  std::vector<double> exchanges_;  // by index
  std::map<std::pair<AxisSet, AxisSet>, double> permutes_;  // by axes and sharded ones
  std::vector<std::vector<std::int64_t>> held_;             // by set; empty is not known yet
  std::vector<std::size_t> digits_;  // by set: a digit 1, to the base of 3, for each axis
  std::size_t table_size_;
};

// A consistent lower bound of the cost from a placement to the target. It is the cheapest path
// between patterns, a smaller problem that is solved exactly: every move of the tensor is a move
// between patterns that costs at most as much. Dijkstra's algorithm runs backwards as far as
// needed.
// Thread safety: one thread at a time.
class CostEstimate {
 public:
  // Refers to tensor and costs. `most`: paths that cost more do not matter.
  CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs, bool groups,
               const Placement& source, const Placement& target, double most);

  // The lower bound of paths from `at`; infinite if it exceeds `most`. O(axes) if the bound is
  // known already. All calls together O(4^axes * axes), with groups O(8^axes).
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

  // The properties of a pattern that permutations of devices preserve or change: sharded and
  // partial axes, the devices along them, and by dimension a divisor of its pieces.
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
    bool is_met = false;  // one of the patterns is settled
  };

  // Returns true if `cost` improves on the known cost from the pattern and is at most most_.
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
  std::map<Cuts, Alike> alike_;  // all patterns; empty as long as nothing is permuted
};

}  // namespace shardwright::redistribution
