// What a lower bound knows of a placement.
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

// Calls visit(set) for every non-empty part of `whole`, or for those of one axis only.
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

// Knows neither the dimensions that the axes shard nor, if pieces are uneven, what the largest
// device holds. If the model is monotone it prices the least that can be; otherwise all that can
// be, of which there is one if pieces are even. Asks the model once per kind and sets.
// Thread safety: one thread at a time.
class SetCosts {
 public:
  // Refers to its arguments. O(4^axes) memory.
  SetCosts(const TensorOnMesh& tensor, const StepCosts& costs);

  // `axes` are sharded before a gather or an exchange, and not sharded before other moves.
  // `sharded`: all that are sharded before the move.
  double least(Move::Kind kind, AxisSet axes, AxisSet sharded);
  // Of an exchange that moves these axes and may move other sharded ones with them.
  double least_exchange(AxisSet axes, AxisSet sharded, bool groups);
  // Of devices that change places along these axes and any others, two at least.
  double least_permute(AxisSet axes, AxisSet sharded);
  // The devices along these axes together.
  std::int64_t parts(AxisSet axes) const;

 private:
  double price(Move::Kind kind, AxisSet axes, AxisSet sharded);
  std::int64_t least_held(AxisSet sharded) const;
  // What the largest device may hold, ascending.
  const std::vector<std::int64_t>& all_held(AxisSet sharded);
  void add_held(std::size_t dim, AxisSet left, std::int64_t held,
                std::vector<std::int64_t>& all) const;
  // Each axis is a digit: not sharded, sharded and not moved, moved.
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

// Solves a smaller problem exactly: of a placement it knows the pattern. Every move of the tensor
// is a move between patterns that costs at most as much, so the cheapest way between patterns is a
// lower bound, and a consistent one. It is found from the target backwards, as far as it is asked
// for.
// Thread safety: one thread at a time.
class CostEstimate {
 public:
  // Refers to tensor and costs. `most`: paths that cost more do not matter.
  CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs, bool groups,
               const Placement& source, const Placement& target, double most);

  // At most what a path from `at` costs; infinite if that is more than `most`. O(axes) where that
  // is known. All calls together O(4^axes * axes), with groups O(8^axes).
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

  // What the axes of a pattern do, over how many devices they spread the tensor, and what is known
  // of the pieces of each dimension: their number is a multiple of this.
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
    bool is_met = false;  // one of them is settled
  };

  // Returns true if no way from the pattern is known that costs as little.
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
  // Returns false if no placements with these cuts are permutations of each other.
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
