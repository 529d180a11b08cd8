// Dominance between labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/embedding/best/bound/pricing/completion_bound.h"

namespace shardwright::embedding {

// The Pareto front of HBM and value: for every amount of HBM the most value with no more of it.
// Thread safety: one thread at a time.
class ParetoFront {
 public:
  void clear() { points_.clear(); }
  // Returns true if a point has no more HBM and no less value. O(log points).
  bool dominates(double hbm, double value) const;
  // Adds a point that is not dominated. O(points) for the points that it replaces or moves.
  void add(double hbm, double value);

 private:
  std::vector<std::pair<double, double>> points_;  // HBM and value, both rising
};

// Removes dominated labels: another label is worth no less, uses no more of any resource and has no
// more copies of the current class. Labels are visited by rising load, so load is no worse. The
// Pareto front then finds dominating labels with the least DDR, SSD and copies; of the others, a
// few that were kept last are compared in all resources. Source: Nemhauser, Ullmann, "Discrete
// Dynamic Programming and Capital Allocation" (1969). Thread safety: one thread at a time.
class DominanceFilter {
 public:
  explicit DominanceFilter(std::size_t max_comparisons) : max_comparisons_(max_comparisons) {}

  // Use is counted as the completion bound says. Any number of copies up to `equal_copies` counts
  // as equal: more copies of the class are then left than can fit.
  void apply(const CompletionBound& completion, std::uint32_t equal_copies,
             std::vector<Label>& labels);

 private:
  // What labels are sorted by: load, then value, then the order in which they were made.
  struct Key {
    double load;
    double value;
    std::uint32_t last;
    std::uint32_t index;
  };

  void sort();
  bool is_dominated(const Label& own) const;

  std::size_t max_comparisons_;
  std::vector<Key> order_;
  std::vector<Key> merged_;        // scratch
  std::vector<std::size_t> runs_;  // of rising load in order_: where they begin, and the end
  std::vector<Label> kept_;
  std::vector<Label> off_front_;  // kept labels that are not on the front, with their counted use
  ParetoFront front_;
};

}  // namespace shardwright::embedding
