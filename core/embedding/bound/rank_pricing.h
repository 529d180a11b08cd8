// The pricing problem of a rank, solved exactly to check a certificate. Step limits of searches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// The number of steps that a search may still take. A stop request sets the number to 0.
// Thread safety: one thread at a time. Refers to its arguments.
class StepLimit {
 public:
  // `left`: the number of steps. `is_stopped` may be empty.
  StepLimit(std::uint64_t& left, const std::function<bool()>& is_stopped)
      : left_(left), is_stopped_(is_stopped), ask_at_(left) {}

  bool is_over() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }
  void spend(std::uint64_t steps) { left_ -= steps < left_ ? steps : left_; }
  // Calls `is_stopped` every 2^16 steps, which is about every millisecond.
  void hear_stop() {
    if (left_ <= ask_at_ && is_stopped_) ask();
  }

 private:
  void ask();

  std::uint64_t& left_;
  const std::function<bool()>& is_stopped_;
  std::uint64_t ask_at_;  // the next call of `is_stopped` is due when this many steps are left
};

// A set of shards on one rank: its dual value (rounded up), its load (rounded down) and its bytes.
struct ShardSet {
  double value = 0;
  double load = 0;
  Storage storage = {};
};

ShardSet sum(const ShardSet& a, const ShardSet& b);

// Returns the smaller use of each resource, with the value of `a`.
ShardSet componentwise_min(const ShardSet& a, const ShardSet& b);

// Returns true if `a` has at least the value of `b` and uses at most as much of every resource.
bool dominates(const ShardSet& a, const ShardSet& b);

// The capacities of a rank and their multipliers.
// Thread safety: a value.
struct RankCapacity {
  double load_limit = 0;
  Storage room;
  CapacityMultipliers multipliers;

  bool fits(const ShardSet& shards) const;
  // Returns the value of the shards minus the cost of their use at the multipliers, rounded up.
  double reduced_value(const ShardSet& shards) const;
  // Returns the cost of all capacities at the multipliers, rounded up.
  double cost() const;
};

// A bound on the relative rounding error of a quotient, and of a sum rounded down term by term.
inline constexpr double kLoadSumSlack = 1e-9;

struct RankItem {
  ShardSet shards;
  double reduced_value = 0;
};

// `copies` identical tables. The rank holds each of them as one of the items or not at all.
struct RankItemClass {
  std::vector<RankItem> items;
  double best_reduced_value = 0;  // of one copy; never negative
  ShardSet max_use;               // the largest use of each resource by any item
  std::uint32_t copies = 1;
  std::uint32_t multiplicity_bound = 1;  // this many copies never fit
};

// Adds one option of a table to the item class of the table: every combination of up to counts[i]
// shards of runs[i] that fits. Returns false if there are too many combinations.
bool add_items(const RankCapacity& capacity, const std::vector<ShardSet>& runs,
               const std::vector<std::uint32_t>& counts, RankItemClass& into);

// Merges classes with the same items into one class, drops empty classes, and sets the multiplicity
// bounds.
void merge_identical(const RankCapacity& capacity, std::vector<RankItemClass>& classes);

// A multiple-choice knapsack: the rank holds, for every table, shards of one option or nothing,
// within its load limit and memory. Labels (partial solutions) are extended by one table at a time.
// A label is dropped if its Lagrangian bound over all later tables does not exceed the claim, or if
// another label dominates it. Identical tables form one item class with a multiplicity. Source:
// Kellerer, Pferschy, Pisinger, "Knapsack Problems" (2004), chapter 11
// (multiple choice); Irnich, Desaulniers, "Shortest Path Problems with Resource Constraints"
// (2005), labels.
// Thread safety: one thread at a time.
class RankPricing {
 public:
  RankPricing(double load_limit, const Storage& room, const CapacityMultipliers& multipliers)
      : capacity_{load_limit, room, multipliers} {}

  void begin_table() { classes_.emplace_back(); }
  // Adds an option of the current table: up to counts[i] shards of runs[i]. Returns false if there
  // are too many combinations.
  bool add(const std::vector<ShardSet>& runs, const std::vector<std::uint32_t>& counts) {
    return add_items(capacity_, runs, counts, classes_.back());
  }

  enum class Answer : std::uint8_t { kHolds, kExceeded, kGivenUp };
  // Returns kHolds if no pattern that fits is worth more than `claim`. Subtracts its steps from
  // `limit`.
  Answer check(double claim, StepLimit& limit);

 private:
  // A partial solution: the shards that the rank holds of the classes so far.
  struct Label {
    ShardSet shards;
    double reduced_value = 0;
    std::uint32_t copies = 0;  // tables held of the current item class
  };
  // An upper bound on the value that later classes add to a label. If a label uses at most
  // `free_below`, everything that later classes can add fits.
  struct Completion {
    double reduced_value = 0;
    ShardSet free_below;
  };

  std::size_t extend_from(std::size_t first, std::size_t max_labels, double claim,
                          StepLimit& limit);
  Completion completion(std::size_t first, std::size_t end) const;
  void extend(const RankItemClass& item_class, const Completion& before, const Completion& after,
              double claim, StepLimit& limit);
  void drop_dominated(const ShardSet& free_below, std::uint32_t equal_copies, StepLimit& limit);
  bool any_pair_exceeds(std::vector<Label> others, double claim, StepLimit& limit) const;

  RankCapacity capacity_;
  std::vector<RankItemClass> classes_;
  std::vector<Label> labels_;
  std::vector<Label> kept_;
};

}  // namespace shardwright::embedding
