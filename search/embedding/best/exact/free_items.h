// The items that a subproblem places again, in the order in which the tree decides them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/best/exact/rank_window.h"
#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {

// A table with its choice, or one shard of a table whose choice stays.
struct FreeItem {
  static constexpr std::uint32_t kWholeTable = ~std::uint32_t{0};

  std::uint32_t table = 0;
  std::uint32_t slot = kWholeTable;
};

// Returns true if the shards may swap ranks without any effect.
inline bool are_interchangeable(const ShardUse& a, const ShardUse& b) {
  return a.table == ShardUse::kUnruled && b.table == ShardUse::kUnruled && a.load == b.load &&
         a.storage == b.storage;
}

// Every quantity is priced in four ways at once: load alone, HBM alone, the scarcer of DDR and SSD
// alone, and all at the context's prices. A subproblem is infeasible if its items need more than
// there is at any one. Thread safety: one thread at a time. Refers to the allocation.
class FreeItems {
 public:
  static constexpr std::size_t kPrices = 4;
  using Priced = std::array<double, kPrices>;

  // The least that one shard takes.
  struct Least {
    double load = 0;
    Storage storage = {};
  };
  struct Item {
    FreeItem free;
    ShardUse use;                    // of the one shard
    std::uint32_t first_choice = 0;  // into all_choices(), the cheapest first
    std::uint32_t num_choices = 0;
    double size = 0;  // the largest of what it needs, as a part of what there is
    Priced least_priced{};
    Least least;
    // Of this item and all that follow:
    Priced needed{};
    Least smallest;
    bool like_before = false;  // a shard that is interchangeable with that of the item before

    bool is_table() const { return free.slot == FreeItem::kWholeTable; }
  };

  explicit FreeItems(const AllocationState& state);

  // Sorts the items by size, the largest first. Choices with a shard that rates at or above `below`
  // are left out. Cost: O(choices of the items).
  void assign(std::span<const FreeItem> items, const RankWindow& window, double below);

  std::size_t size() const { return items_.size(); }
  const Item& operator[](std::size_t index) const { return items_[index]; }
  std::span<const Item> items() const { return items_; }
  std::span<const std::uint32_t> all_choices() const { return choices_; }
  std::span<const std::uint32_t> choices(const Item& item) const {
    return {choices_.data() + item.first_choice, item.num_choices};
  }

  double priced(std::size_t price, double load, const Storage& storage) const {
    return add_priced(load_price_[price] * load, prices_[price], as_doubles(storage));
  }
  // The parts of it, for callers that know that there is no SSD.
  double priced_without_ssd(std::size_t price, double load, const PerTier<double>& bytes) const {
    return load_price_[price] * load + prices_[price].hbm * bytes.hbm +
           prices_[price].ddr * bytes.ddr;
  }
  double price_of_ssd(std::size_t price) const { return prices_[price].ssd; }

 private:
  Priced priced_in_window(const Choice& choice, const RankWindow& window) const;
  void collect_choices(Item& item, const RankWindow& window, double below);
  void sort();
  void sum_from_the_end();
  void find_equal_neighbours();

  const AllocationState* state_;
  std::array<MemoryPrices, kPrices> prices_{};
  std::array<double, kPrices> load_price_{};
  std::vector<Item> items_;
  std::vector<std::uint32_t> choices_;
};

}  // namespace shardwright::embedding
