// The most that item classes still to come can add to a label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/pricing/knapsack.h"

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

}  // namespace shardwright::embedding
