// What all streams of one improvement share: the cost of every shard and the price of memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/rank_state/priced_choices.h"
#include "search/embedding/model/rank_state/table_units.h"

namespace shardwright::embedding {

// What one shard adds to its rank; for a table with placement rules, also which shard it is.
struct ShardUse {
  static constexpr std::uint32_t kUnruled = ~std::uint32_t{0};

  double load = 0;  // where time counts once
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
  std::uint32_t table = kUnruled;
  std::uint32_t shard = 0;
};

// Thread safety: immutable; const members may be called from any thread. Refers to the model.
class SearchContext {
 public:
  // Cost: O(choices) for a few hundred prices; one ShardUse per shard of every choice that is not
  // on all ranks.
  explicit SearchContext(const ChoiceModel& model);

  const ChoiceModel& model() const { return *model_; }
  const MemoryPrices& prices() const { return prices_; }
  // Prices at which the cheapest choices take no more than these parts of the memory, falling from
  // all of it: how much shards leave unused is known only when they are placed. One entry where
  // memory is not scarce.
  std::span<const MemoryPrices> prices_by_fill() const { return prices_by_fill_; }
  // A rating that no allocation is below, up to rounding: one that needs no larger shards, with all
  // loads shared evenly and memory as one pool. The prices are those at this rating.
  double bound() const { return bound_; }

  const TableUnits& units() const { return units_; }
  // Load that all ranks together carry at a rating of 1.
  double speed() const { return speed_; }
  // The least rating of a load on one rank.
  double fastest(double load) const { return load * least_scale_; }

  // Room of all ranks together, in bytes; ranks that must stay empty have none.
  double total_hbm() const { return total_hbm_; }
  double total_ddr() const { return total_ddr_; }

  // Whether every shard of the choice fits on some rank that it may be on, were it empty.
  bool fits(std::uint32_t choice) const { return fits_[choice] != 0; }

  // Cost of every shard of a choice that is not on all ranks.
  std::span<const ShardUse> shards(std::uint32_t choice) const {
    return {uses_.data() + first_use_[choice], model_->choices()[choice].num_shards};
  }
  // Slots keep the ranks of a table's shards; the largest choice of the table decides how many.
  std::uint32_t first_slot(std::size_t table) const { return first_slot_[table]; }
  std::uint32_t num_slots() const { return first_slot_.back(); }

  // Load plus the price of the memory that a choice takes.
  double priced(const Choice& choice) const { return priced(choice, prices_); }
  static double priced(const Choice& choice, const MemoryPrices& prices) {
    return choice.load + prices.hbm * static_cast<double>(choice.hbm_bytes) +
           prices.ddr * static_cast<double>(choice.ddr_bytes);
  }
  // The price of all memory that there is.
  double priced_room() const { return prices_.hbm * total_hbm_ + prices_.ddr * total_ddr_; }

 private:
  bool every_shard_fits(std::size_t table, const Choice& choice) const;
  void find_fitting();
  void expand_shards();
  void find_prices();

  const ChoiceModel* model_;
  TableUnits units_;
  double speed_ = 0;
  double least_scale_ = 1;
  MemoryPrices prices_;
  std::vector<MemoryPrices> prices_by_fill_;
  double bound_ = 0;
  double total_hbm_ = 0;
  double total_ddr_ = 0;
  std::vector<std::uint8_t> fits_;  // by choice
  std::vector<ShardUse> uses_;
  std::vector<std::uint32_t> first_use_;   // by choice
  std::vector<std::uint32_t> first_slot_;  // by table, and the end
};

}  // namespace shardwright::embedding
