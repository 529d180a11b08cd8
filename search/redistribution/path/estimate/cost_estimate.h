// A lower bound of what is left to pay from a placement to the target.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "search/redistribution/path/estimate/patterns.h"
#include "search/redistribution/path/estimate/set_costs.h"

namespace shardwright::redistribution {

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
