// What all lanes of a best-mode search share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/problem/storage.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/priced_choices.h"

namespace shardwright::embedding {

// What one shard adds to its rank. Shards without placement rules have no table and shard number,
// so that equal shards compare equal.
struct ShardUse {
  static constexpr std::uint32_t kUnruled = ~std::uint32_t{0};

  double load = 0;  // ms on a rank of normal speed, or bytes for the storage model
  Storage storage = {};
  std::uint32_t table = kUnruled;  // as the model numbers it
  std::uint32_t shard = 0;
};

// The place that must hold all shards of a table.
enum class Colocation : std::uint8_t { kNone, kHost, kRank };

// Tables that placement rules bond. A unit is the union of overlapping groups of tables that must
// share a host or rank. A part is the union of overlapping groups that must share a rank. Ignores
// groups that every plan obeys because there is only one host or rank.
// Thread safety: immutable; const members may be called from any thread.
class TableUnits {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Unit {
    std::vector<std::uint32_t> tables;  // as the model numbers them, ascending
    bool one_rank = false;              // all tables share a rank, otherwise a host
  };

  explicit TableUnits(const ChoiceModel& model);

  std::span<const Unit> units() const { return units_; }
  // kNone if the table is in no unit (or part).
  std::uint32_t unit_of(std::size_t table) const { return unit_.empty() ? kNone : unit_[table]; }
  std::uint32_t part_of(std::size_t table) const { return part_.empty() ? kNone : part_[table]; }
  Colocation colocation(std::size_t table) const {
    if (unit_of(table) == kNone) return Colocation::kNone;
    return part_of(table) == kNone ? Colocation::kHost : Colocation::kRank;
  }
  // The number of tables of the largest unit.
  std::size_t largest() const { return largest_; }

 private:
  std::vector<Unit> units_;
  std::vector<std::uint32_t> unit_;  // by table; empty if there is no unit
  std::vector<std::uint32_t> part_;  // by table: the first table of its part
  std::size_t largest_ = 0;
};

// Thread safety: immutable; const members may be called from any thread. Refers to the model.
class SearchContext {
 public:
  // Time: O(choices) for each of a few hundred prices. Memory: one ShardUse per shard of every
  // choice that is not on all ranks.
  // If the budget is interrupted, prices are less exact and the bound is lower.
  explicit SearchContext(const ChoiceModel& model, const PricingParameters& pricing = {},
                         const Budget& budget = {});

  const ChoiceModel& model() const { return *model_; }
  const PricingParameters& pricing() const { return pricing_; }
  const MemoryPrices& prices() const { return prices_; }
  // A lower bound of every rating, up to rounding: loads are even, memory is one pool, and no shard
  // rates above the bound. prices() are the prices at this rating.
  double bound() const { return bound_; }

  const TableUnits& units() const { return units_; }
  // The load of all ranks together if every rank rates 1.
  double speed() const { return speed_; }
  // The rating of a load on the fastest rank.
  double fastest(double load) const { return load * least_scale_; }

  // Capacity of all ranks together, in bytes. Ranks that must stay empty count as 0.
  const PerTier<double>& total_bytes() const { return total_bytes_; }

  // Returns true if every shard of the choice fits some empty rank where rules allow the shard.
  bool fits(std::uint32_t choice) const { return fits_[choice] != 0; }

  // The shards of a choice that is not on all ranks.
  std::span<const ShardUse> shards(std::uint32_t choice) const {
    return {uses_.data() + first_use_[choice], model_->choices()[choice].num_shards};
  }
  // A slot stores the rank of one shard. A table has as many slots as its choice with the most
  // shards.
  std::uint32_t first_slot(std::size_t table) const { return first_slot_[table]; }
  std::uint32_t num_slots() const { return first_slot_.back(); }

  // The load of a choice plus the price of its memory.
  double priced(const Choice& choice) const { return priced(choice, prices_); }
  static double priced(const Choice& choice, const MemoryPrices& prices) {
    return add_priced(choice.load, prices, choice.bytes);
  }
  // The price of all memory.
  double priced_capacity() const { return add_priced(0, prices_, total_bytes_); }

 private:
  bool every_shard_fits(std::size_t table, const Choice& choice) const;
  void find_fitting();
  void expand_shards();
  double largest_needed_shard() const;
  void find_prices(const Budget& budget);

  const ChoiceModel* model_;
  PricingParameters pricing_;
  TableUnits units_;
  double speed_ = 0;
  double least_scale_ = 1;
  MemoryPrices prices_;
  double bound_ = 0;
  PerTier<double> total_bytes_;
  Storage least_room_;              // the least of all ranks, per tier
  std::vector<std::uint8_t> fits_;  // by choice
  std::vector<ShardUse> uses_;
  std::vector<std::uint32_t> first_use_;   // by choice
  std::vector<std::uint32_t> first_slot_;  // by table, and the end
};

}  // namespace shardwright::embedding
