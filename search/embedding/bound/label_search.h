// The pricing problem as a multiple-choice knapsack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// Two values, or two uses of a capacity, count as equal if their relative difference is below this
// number. It exceeds the rounding errors of a pattern's sum, and is too small to matter to a bound.
inline constexpr double kPricingTolerance = 1e-10;

// Resources of a rank that shards use: load in units of the rating (ms, or bytes for the storage
// model), memory in bytes.
struct Resources {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
  double ssd = 0;

  Resources& operator+=(const Resources& other) {
    load += other.load;
    hbm += other.hbm;
    ddr += other.ddr;
    ssd += other.ssd;
    return *this;
  }
  // Subtracts `copies` times `other`.
  void remove(double copies, const Resources& other) {
    load -= copies * other.load;
    hbm -= copies * other.hbm;
    ddr -= copies * other.ddr;
    ssd -= copies * other.ssd;
  }
  bool fits_in(const Resources& other) const {
    return load <= other.load && hbm <= other.hbm && ddr <= other.ddr && ssd <= other.ssd;
  }

  friend bool operator==(const Resources&, const Resources&) = default;
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
};

inline Resources componentwise_max(const Resources& a, const Resources& b) {
  return {std::max(a.load, b.load), std::max(a.hbm, b.hbm), std::max(a.ddr, b.ddr),
          std::max(a.ssd, b.ssd)};
}

// The value minus the cost of the resources at the multipliers.
inline double reduced_value(double value, const Resources& use,
                            const CapacityMultipliers& multipliers) {
  return value - multipliers.load * use.load - multipliers.hbm * use.hbm -
         multipliers.ddr * use.ddr - multipliers.ssd * use.ssd;
}

// The cost of the resources at the multipliers.
inline double cost_at(const CapacityMultipliers& multipliers, const Resources& use) {
  return multipliers.load * use.load + multipliers.hbm * use.hbm + multipliers.ddr * use.ddr +
         multipliers.ssd * use.ssd;
}

// Shards of one choice on one rank, from up to two rows of the choice.
struct Item {
  double value = 0;  // sum of the dual values of the shards
  Resources use;
  std::uint32_t row = 0;
  std::uint32_t count = 0;
  std::uint32_t other_row = 0;
  std::uint32_t other_count = 0;
};

// The items of a group of `copies` equal tables. A rank holds at most one item per table.
struct ItemClass {
  std::uint32_t first_item = 0;
  std::uint32_t num_items = 0;
  std::uint32_t copies = 1;
  double best_reduced_value = 0;  // of any item, at least 0
  Resources max_use;              // componentwise maximum over all items
};

// The input of a pricing problem.
struct PricingQuery {
  std::span<const double> dual_values;  // of one shard, by BoundRow of the first tables of groups
  double target = 0;                    // no rank may have a rating above the target
  const Domain& domain;
  std::span<const EqualTables> groups;
  // Only patterns worth more than this are of interest.
  double at_least = 0;
  // If set, the answer must be proved optimal, however long the proof takes.
  bool exact = false;
};

// A multiple-choice knapsack: the capacity of a rank of one class, and the items that it may hold.
// An item is left out if another item of its item class dominates it. At most two rows of a choice
// may have a positive dual value.
// Source: Kellerer, Pferschy, Pisinger, "Knapsack Problems" (2004), chapter 11 (multiple choice).
// Thread safety: one thread at a time.
class Knapsack {
 public:
  // Sets the items that a rank of the class may hold.
  void fill(const BoundRows& rows, std::uint32_t rank_class, const PricingQuery& query);
  // Sets items that are single shards, independent of tables: the rank may hold items[i] up to
  // copies[i] times. Precondition: each item fits.
  void fill(std::span<const Item> items, std::span<const std::uint32_t> copies,
            const Resources& capacity);
  // Rounds the resources of all items down to multiples of capacity / `units`, so that fewer labels
  // differ. Every pattern that fits still fits. Further patterns may fit that exceed the real
  // capacity by up to one unit per item.
  void round_down(double units);
  // Sorts the item classes by the largest reduced value of their items, in descending order.
  void sort_classes(const CapacityMultipliers& multipliers);

  const Resources& capacity() const { return capacity_; }
  bool fits(const Resources& use) const { return use.fits_in(capacity_); }
  std::span<const Item> items() const { return items_; }
  std::span<const Item> items_of(const ItemClass& item_class) const {
    return std::span(items_).subspan(item_class.first_item, item_class.num_items);
  }
  std::span<const ItemClass> classes() const { return classes_; }
  // Returns a number of items of the class that does not fit a rank, at most copies + 1.
  std::uint32_t multiplicity_bound(const ItemClass& item_class) const;

 private:
  void add_items(const BoundRows& rows, std::uint32_t rank_class, std::uint32_t choice,
                 std::span<const double> dual_values);
  bool add_item(const Item& item);
  void drop_dominated_items(std::size_t first);

  Resources capacity_;
  std::vector<Item> items_;
  std::vector<ItemClass> classes_;
};

// A partial pattern: the items that a rank holds of the item classes processed so far.
struct Label {
  Resources use;
  double value = 0;
  std::uint32_t last = 0;    // the last item, as index into LabelSearch::trail_; 0 = none
  std::uint32_t copies = 0;  // number of items of the current item class
};

// Upper bounds of the value that a label can still reach, from Lagrangian relaxations at several
// multipliers. Also keeps free_use(): a label that uses at most this has room for all remaining
// classes.
// Source: Irnich, Desaulniers, "Shortest Path Problems with Resource Constraints" (2005),
// completion bounds.
// Thread safety: one thread at a time.
class CompletionBound {
 public:
  // Forgets all relaxations. Refers to the knapsack, which must not change.
  void reset(const Knapsack& knapsack);
  // O(items).
  void add_relaxation(const CapacityMultipliers& multipliers);
  // An upper bound of the value of a pattern, by the relaxation that was added first.
  double max_value() const { return relaxations_.front().max_value; }

  // Begins a pass over the item classes. At first all classes are remaining classes.
  void begin();
  // Remove a class from the remaining classes: pass_value() for can_exceed(), pass_use() for
  // free_use().
  void pass_value(std::size_t class_index);
  void pass_use(const ItemClass& item_class);
  // Sets the items that a further copy of the class may be: `item` and later items.
  void look_ahead(const ItemClass& item_class, std::uint32_t item);

  // Returns the use that comparisons count: at least free_use(), since less is equivalent.
  Resources counted_use(const Resources& use) const { return componentwise_max(use, free_use_); }
  const Resources& free_use() const { return free_use_; }
  // Returns false if no completion of the label, with up to `copies_ahead` further copies of the
  // current class, exceeds `value`.
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
    std::vector<double> best_values;  // by class: largest reduced value of all its copies
    double max_value = 0;             // bound of the value of any pattern
    double rest = 0;                  // cost of the capacity + best values of the remaining classes
    double copy_ahead = 0;            // largest reduced value of one more copy of the current class
  };

  const Knapsack* knapsack_ = nullptr;
  std::vector<Relaxation> relaxations_;
  Resources free_use_;
};

// The Pareto front of HBM bytes and value: the largest value with at most a given amount of HBM.
// Thread safety: one thread at a time.
class ParetoFront {
 public:
  void clear() { points_.clear(); }
  // Returns true if some point has at most this HBM and at least this value. O(log points).
  bool dominates(double hbm, double value) const;
  // Adds a point. Precondition: !dominates(hbm, value). O(points).
  void add(double hbm, double value);

 private:
  std::vector<std::pair<double, double>> points_;  // (HBM, value), both ascending
};

// Removes a label if another label dominates it: the other label has at least its value, at most
// its use of every resource, and at most its copies of the current class. Labels are visited in
// ascending order of load. A label is compared with the Pareto front of all kept labels with the
// least DDR, SSD and copies, and in all resources with the last few other kept labels.
// Source: Nemhauser, Ullmann, "Discrete Dynamic Programming and Capital Allocation" (1969).
// Thread safety: one thread at a time.
class DominanceFilter {
 public:
  explicit DominanceFilter(std::size_t max_comparisons) : max_comparisons_(max_comparisons) {}

  // Removes dominated labels. Compares the CompletionBound::counted_use() of labels. All numbers of
  // copies up to `equal_copies` count as equal, because more copies are then left than fit.
  void apply(const CompletionBound& completion, std::uint32_t equal_copies,
             std::vector<Label>& labels);

 private:
  // The sort key of a label: ascending load, then descending value, then the order of creation.
  struct Key {
    double load;
    double value;
    std::uint32_t last;
    std::uint32_t index;
  };

  void sort();
  bool is_dominated(const Label& label) const;

  std::size_t max_comparisons_;
  std::vector<Key> order_;
  std::vector<Key> merged_;        // scratch
  std::vector<std::size_t> runs_;  // begins of ascending runs in order_, and the end
  std::vector<Label> kept_;
  std::vector<Label> off_front_;  // kept labels not on the front, with counted use
  ParetoFront front_;
};

// A labelling algorithm for the knapsack. It drops a label whose completion bound does not exceed
// the best pattern, or that another label dominates.
// Thread safety: one thread at a time.
class LabelSearch {
 public:
  explicit LabelSearch(const KnapsackParameters& parameters)
      : parameters_(parameters), dominance_(KnapsackParameters::kMaxComparisons) {}

  // Begins a search for patterns worth more than `at_least`, with a greedy pattern. Refers to the
  // knapsack, which must not change until the search ends.
  void begin(const Knapsack& knapsack, const CapacityMultipliers& multipliers, double at_least);
  // Runs a beam search, which keeps only the most promising labels per item class. Proves no bound.
  void run_beam();
  // Runs the full search. Returns false if there are too many labels. Otherwise no pattern is worth
  // more than proved_value(). Once there are many labels, the remaining classes get labels of their
  // own, and the two sets of labels are joined.
  // Source: Horowitz, Sahni, "Computing Partitions with Applications to the Knapsack Problem"
  // (1974).
  bool run_to_end();

  double best_value() const { return best_.value; }
  double proved_value() const { return threshold_; }
  // An upper bound of the value of every pattern, valid after begin().
  double relaxed_value() const { return completion_.max_value(); }
  // The items of the best pattern.
  std::vector<Item> best_items() const;
  // Labels made and compared since construction.
  std::uint64_t steps() const { return steps_; }

 private:
  // The last item of a label, and the step before it.
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
  std::vector<Step> trail_;  // the first element stands for no item
  Label best_;
  std::uint32_t last_of_other_half_ = 0;  // as Label::last, in the second set of joined labels
  double threshold_ = 0;                  // labels that cannot exceed this value are dropped
  std::uint64_t steps_ = 0;
};

}  // namespace shardwright::embedding
