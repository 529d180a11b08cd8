// A lower bound of what is left to pay from a placement to the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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
  void before_permute(const Pattern& to, double cost, std::size_t a, std::size_t b);

  const MeshShape& mesh_;
  PatternSpace space_;
  SetCosts costs_;
  bool groups_;
  bool any_partial_;
  double most_;
  AxisSet all_;
  std::vector<Bound> left_;  // by index of the pattern
  std::vector<Entry> heap_;
};

}  // namespace shardwright::redistribution
