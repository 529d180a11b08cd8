// The ways to place all shards of every table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/bound/pricing/step_limit.h"
#include "core/embedding/bound/search/choices/table_choices.h"
#include "core/embedding/bound/search/state/rank_kinds.h"
#include "core/embedding/bound/search/state/shard_prices.h"

namespace shardwright::embedding {

// What a placement takes of a rank.
struct PlacedPart {
  Rank rank = 0;
  double load = 0;  // times the rank's factor
  PerTier<double> bytes = {};
  double price = 0;
};

struct PlacedShards {
  const TableChoice* choice = nullptr;
  std::uint32_t first_part = 0;
  std::uint32_t end_part = 0;
  std::uint32_t first_shard = 0;
  std::uint32_t end_shard = 0;
  std::uint64_t ranks = 0;  // of its parts, as bits
  double cost = 0;          // the prices of its parts
};

// Equal shards are in ascending order. Where ranks may be exchanged, each rank has one shard of an
// option on all ranks; so what larger shards take beyond the least one is on different ranks. It is
// left out if it is hardly anything.
// Thread safety: immutable. Refers to the tables.
class TablePlacements {
 public:
  // Without charges for moves. Returns nothing if there are more than 64 ranks, or too many
  // placements to look at each.
  static std::optional<TablePlacements> make(const std::vector<ChoicesOfTable>& tables,
                                             const std::vector<RankTraits>& ranks,
                                             std::uint32_t ranks_per_host,
                                             const RankPriceSet& prices, double target,
                                             StepLimit& limit);

  std::size_t num_tables() const { return first_.size() - 1; }
  // Those of a table are in a row, the cheapest first.
  std::uint32_t first(std::size_t table) const { return first_[table]; }
  const PlacedShards& operator[](std::uint32_t placement) const { return placements_[placement]; }
  std::span<const PlacedPart> parts(const PlacedShards& own) const {
    return std::span(parts_).subspan(own.first_part, own.end_part - own.first_part);
  }
  // Nothing is left out.
  bool is_exact() const { return is_exact_; }
  // By shard; where ranks may be exchanged, of what all shards have in common.
  std::span<const Rank> ranks_of_shards(const PlacedShards& own) const {
    return std::span(ranks_).subspan(own.first_shard, own.end_shard - own.first_shard);
  }

 private:
  class Maker;

  std::vector<std::uint32_t> first_{0};  // by table, and the end
  std::vector<PlacedShards> placements_;
  std::vector<PlacedPart> parts_;
  std::vector<Rank> ranks_;  // of shards
  bool is_exact_ = true;
};

}  // namespace shardwright::embedding
