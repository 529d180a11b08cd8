// The search for the pattern of most value: labels extended item class by item class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/pricing/completion_bound.h"
#include "search/embedding/best/bound/pricing/dominance.h"
#include "search/embedding/best/bound/pricing/knapsack.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

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
