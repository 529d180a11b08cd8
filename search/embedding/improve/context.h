// What all streams of one improvement share: the cost of every shard and the price of memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/choice_model.h"

namespace shardwright::embedding {

// What one shard adds to its rank.
struct ShardUse {
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
};

// Load that a byte is worth when memory is scarce, and the bound on the rating that these prices
// prove (up to rounding): ranks share all loads evenly, memory is one pool.
struct MemoryPrices {
  double hbm = 0;
  double ddr = 0;
  double bound = 0;
};

// Thread safety: immutable; const members may be called from any thread. Refers to the model.
class ImproveContext {
 public:
  // Cost: O(choices) for a few hundred prices; one ShardUse per shard of every choice that is not
  // on all ranks.
  explicit ImproveContext(const ChoiceModel& model);

  const ChoiceModel& model() const { return *model_; }
  const MemoryPrices& prices() const { return prices_; }

  // Cost of every shard of a choice that is not on all ranks.
  std::span<const ShardUse> shards(std::uint32_t choice) const {
    return {uses_.data() + first_use_[choice], model_->choices()[choice].num_shards};
  }
  // Slots keep the ranks of a table's shards; the largest choice of the table decides how many.
  std::uint32_t first_slot(std::size_t table) const { return first_slot_[table]; }
  std::uint32_t num_slots() const { return first_slot_.back(); }

  // Load plus the price of the memory that a choice takes.
  double priced(const Choice& choice) const {
    return choice.load + prices_.hbm * static_cast<double>(choice.hbm_bytes) +
           prices_.ddr * static_cast<double>(choice.ddr_bytes);
  }
  // The least of a table.
  double least_priced(std::size_t table) const { return least_priced_[table]; }

 private:
  void expand_shards();
  void find_prices();

  const ChoiceModel* model_;
  MemoryPrices prices_;
  std::vector<ShardUse> uses_;
  std::vector<std::uint32_t> first_use_;   // by choice
  std::vector<std::uint32_t> first_slot_;  // by table, and the end
  std::vector<double> least_priced_;       // by table
};

}  // namespace shardwright::embedding
