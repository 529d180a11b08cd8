// The search for the pattern of most value: labels extended item class by item class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/pricing/knapsack.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// A partial pattern: the items that a rank holds of the classes passed so far.
struct Label {
  Resources use;
  double value = 0;
  std::uint32_t last = 0;    // its last item, an index into the search's trail; 0 = none
  std::uint32_t copies = 0;  // of the current item class
};

// Bounds the value that a label can still reach, by Lagrangian relaxations at several multipliers,
// and says up to which use everything still to come fits.
// Source: Irnich, Desaulniers, "Shortest Path Problems with Resource Constraints" (2005),
// completion bounds.
// Thread safety: one thread at a time.
class CompletionBound {
 public:
  // Forgets all relaxations. Refers to the knapsack, which must not change.
  void reset(const Knapsack& knapsack);
  // O(items).
  void add_relaxation(const CapacityMultipliers& multipliers);
  // No pattern is worth more, by the relaxation that was added first.
  double max_value() const { return relaxations_.front().max_value; }

  // All classes are still to come.
  void begin();
  // The class is no longer to come, apart from copies that look_ahead() counts.
  void pass_value(std::size_t class_index);
  void pass_use(const ItemClass& own);
  // One more copy of the class may be any of its items from `item` on.
  void look_ahead(const ItemClass& own, std::uint32_t item);

  // The use as it counts: everything still to come fits if no more is used than `free_use`.
  Resources counted_use(const Resources& use) const { return componentwise_max(use, free_use_); }
  const Resources& free_use() const { return free_use_; }
  // Returns true if the label can be completed to more than `value`, including `copies_ahead`
  // copies of the current class.
  bool can_exceed(const Label& label, std::uint32_t copies_ahead, double value) const {
    const Resources use = counted_use(label.use);
    return std::all_of(relaxations_.begin(), relaxations_.end(), [&](const Relaxation& own) {
      return reduced_value(label.value, use, own.multipliers) + own.rest +
                 copies_ahead * own.copy_ahead >
             value;
    });
  }

 private:
  struct Relaxation {
    CapacityMultipliers multipliers;
    std::vector<double> best_values;  // reduced values by class, of all its copies
    double max_value = 0;             // of a pattern
    double rest = 0;                  // capacity and the classes still to come
    double copy_ahead = 0;            // one more copy of the current class
  };

  const Knapsack* knapsack_ = nullptr;
  std::vector<Relaxation> relaxations_;
  Resources free_use_;
};

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

// A label ends if its completion bound shows that it cannot exceed the best pattern, or if another
// label dominates it.
// Thread safety: one thread at a time.
class LabelSearch {
 public:
  explicit LabelSearch(const KnapsackParameters& parameters)
      : parameters_(parameters), dominance_(parameters.max_comparisons) {}

  // Starts with a greedy pattern. Only patterns worth more than `at_least` are looked for. Refers
  // to the knapsack, which must not change until the search ends.
  void begin(const Knapsack& knapsack, const CapacityMultipliers& multipliers, double at_least);
  // Keeps only the most promising labels of every class: fast, finds good patterns, proves nothing.
  void run_beam();
  // Returns false if there are too many labels; otherwise no pattern is worth more than
  // proved_value(). Once there are many labels, the other classes are searched separately and the
  // two sets of labels are joined.
  // Source: Horowitz, Sahni, "Computing Partitions with Applications to the Knapsack Problem"
  // (1974).
  bool run_to_end();

  double best_value() const { return best_.value; }
  double proved_value() const { return threshold_; }
  // No pattern is worth more, whether the search ran to its end or not.
  double relaxed_value() const { return completion_.max_value(); }
  // The items of the best pattern.
  std::vector<Item> best_items() const;
  // Labels made and compared since construction.
  std::uint64_t steps() const { return steps_; }

 private:
  // The item that a label took last, and the step before.
  struct Step {
    std::uint32_t previous = 0;
    std::uint32_t item = 0;
  };

  void fill_greedily();
  std::size_t extend_from(std::size_t first, std::size_t max_labels, std::size_t beam_width);
  bool extend(std::size_t class_index, std::size_t beam_width);
  void add_item(std::uint32_t index, std::uint32_t copies);
  void take_best(const Label& label, std::uint32_t last_of_other_half);
  bool can_win(const Label& label, std::uint32_t copies_ahead) const;
  void drop_dominated(std::uint32_t equal_copies);
  void keep_most_promising(std::size_t beam_width);
  void join(std::vector<Label> others);

  const KnapsackParameters& parameters_;
  const Knapsack* knapsack_ = nullptr;
  CapacityMultipliers multipliers_;
  CompletionBound completion_;
  DominanceFilter dominance_;
  std::vector<Label> labels_;
  std::vector<Step> trail_;  // the first stands for no item
  Label best_;
  std::uint32_t last_of_other_half_ = 0;  // what the best pattern holds of the other half
  double threshold_ = 0;                  // labels that cannot be worth more end
  std::uint64_t steps_ = 0;
};

}  // namespace shardwright::embedding
