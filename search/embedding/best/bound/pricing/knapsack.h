// The pricing problem as a multiple-choice knapsack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/model/table_groups.h"

namespace shardwright::embedding {

// Relative difference below which two values count as equal, and two uses of a capacity: above the
// rounding errors of a pattern's sum, below every difference that matters to a bound.
inline constexpr double kPricingTolerance = 1e-10;

// What shards use of a rank: load in units of the rating, memory in bytes.
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
  // Takes so many copies away.
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

// Value less the cost of the resources at the multipliers.
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

// Shards of one choice on one rank: of up to two of its rows.
struct Item {
  double value = 0;  // sum of their dual values
  Resources use;
  std::uint32_t row = 0;
  std::uint32_t count = 0;
  std::uint32_t other_row = 0;
  std::uint32_t other_count = 0;
};

// The items of a group of identical tables. The rank holds at most one item for each of `copies`
// tables.
struct ItemClass {
  std::uint32_t first_item = 0;
  std::uint32_t num_items = 0;
  std::uint32_t copies = 1;
  double best_reduced_value = 0;  // of one copy; never negative
  Resources max_use;              // of each resource, by any item
};

// What a pricing problem is asked.
struct PricingQuery {
  std::span<const double> dual_values;  // of one shard, by row; of the first tables of groups only
  double target = 0;                    // rating that limits the load of a rank
  const Domain& domain;
  std::span<const EqualTables> groups;
  // Only patterns of more value than this are looked for.
  double at_least = 0;
  // The answer must be proved best, however long that takes.
  bool exact = false;
};

// The items of one rank class and its capacity. Items that another item of their class dominates
// are left out. Of a choice with more than two rows, only the first two with a positive dual value
// count: the others must have the dual value 0. Source: Kellerer, Pferschy, Pisinger, "Knapsack
// Problems" (2004), chapter 11 (multiple choice).
// Thread safety: one thread at a time.
class Knapsack {
 public:
  // What a rank of the class may hold.
  void fill(const BoundRows& rows, std::uint32_t rank_class, const PricingQuery& query);
  // `items`: single shards, of which there are as many as `copies` says; no table holds them
  // together. Precondition: each fits.
  void fill(std::span<const Item> items, std::span<const std::uint32_t> copies,
            const Resources& capacity);
  // Rounds the resources of all items down to multiples of capacity / `units`, so that fewer labels
  // differ. Every pattern that fits still fits; new ones may exceed the capacity by one unit per
  // item.
  void round_down(double units);
  // Sorts the classes, those with the most valuable items first.
  void sort_classes(const CapacityMultipliers& multipliers);

  const Resources& capacity() const { return capacity_; }
  bool fits(const Resources& use) const { return use.fits_in(capacity_); }
  std::span<const Item> items() const { return items_; }
  std::span<const Item> items_of(const ItemClass& own) const {
    return std::span(items_).subspan(own.first_item, own.num_items);
  }
  std::span<const ItemClass> classes() const { return classes_; }
  // A number of copies that does not fit, or one more than there are.
  std::uint32_t multiplicity_bound(const ItemClass& own) const;

 private:
  void add_items(const BoundRows& rows, std::uint32_t rank_class, std::uint32_t choice,
                 std::span<const double> dual_values);
  bool add_item(const Item& item);
  void drop_dominated_items(std::size_t first);

  Resources capacity_;
  std::vector<Item> items_;
  std::vector<ItemClass> classes_;
};

}  // namespace shardwright::embedding
