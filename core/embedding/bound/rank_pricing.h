// The pricing problem of one rank, solved independently of the search: how much dual value can a
// pattern have?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// Shards on one rank: their dual value and the resources that they use. Values are rounded up,
// loads down.
struct ShardSet {
  double value = 0;
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
};

// The smaller use of each resource; the value of `a`.
ShardSet componentwise_min(const ShardSet& a, const ShardSet& b);

// A multiple-choice knapsack: the rank holds, of every table, shards of one option or nothing, up
// to a load and its memory. Solved by labels that are extended table by table. A label ends if the
// Lagrangian bound on everything still to come cannot lift it above the claim, or if another label
// dominates it. Identical tables are one item class with a multiplicity, and are filled in one
// order only. Source: Kellerer, Pferschy, Pisinger, "Knapsack Problems" (2004), chapter 11
// (multiple choice); Irnich, Desaulniers, "Shortest Path Problems with Resource Constraints"
// (2005), labels.
// Thread safety: one thread at a time.
class RankPricing {
 public:
  RankPricing(double load_limit, const Storage& room, const CapacityMultipliers& multipliers)
      : load_limit_(load_limit), room_(room), multipliers_(multipliers) {}

  void begin_table() { classes_.emplace_back(); }
  // Adds an option of the last table: up to counts[i] shards of runs[i]. Returns false if they can
  // be combined in too many ways.
  bool add(const std::vector<ShardSet>& runs, const std::vector<std::uint32_t>& counts);

  enum class Answer : std::uint8_t { kHolds, kExceeded, kGivenUp };
  // Returns kHolds if no pattern that fits is worth more than `claim`. Takes its steps from
  // `work_left`.
  Answer check(double claim, std::uint64_t& work_left);

 private:
  // `reduced_value`: the value less the cost of its resources at the multipliers, rounded up.
  struct Label {
    ShardSet shards;
    double reduced_value = 0;
    std::uint32_t copies = 0;  // tables of the item class at hand that are taken
  };
  // `copies` identical tables, each of which may be held as one of the items or not at all.
  struct ItemClass {
    std::vector<Label> items;
    double best_reduced_value = 0;  // of one copy; never negative
    ShardSet max_use;               // of each resource, by any item
    std::uint32_t copies = 1;
    std::uint32_t multiplicity_bound = 1;  // this many copies never fit
  };
  // What the classes still to come can add to a label at most. Whatever they add fits a label that
  // uses no more than `free_below`.
  struct Completion {
    double reduced_value = 0;
    ShardSet free_below;
  };

  void merge_identical();
  std::uint32_t multiplicity_bound(const ItemClass& own) const;
  bool fits(const ShardSet& shards) const;
  double reduced_value(const ShardSet& shards) const;
  std::size_t extend_from(std::size_t first, std::size_t max_labels, double claim,
                          std::uint64_t& work_left);
  Completion completion(std::size_t first, std::size_t end) const;
  void extend(const ItemClass& own, const Completion& before, const Completion& after, double claim,
              std::uint64_t& work_left);
  void drop_dominated(const ShardSet& free_below, std::uint32_t equal_copies);
  bool any_pair_exceeds(std::vector<Label> others, double claim, std::uint64_t& work_left) const;

  double load_limit_;
  Storage room_;
  CapacityMultipliers multipliers_;
  std::vector<ItemClass> classes_;
  std::vector<Label> labels_;
  std::vector<Label> kept_;
};

}  // namespace shardwright::embedding
