// What an old plan holds, and what it costs to move from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/moves/moved_elements.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

struct HeldTable {
  std::optional<ShardLayout> layout;  // how the table was cut; absent if that is not known
  std::vector<std::int64_t> ranks;    // of every shard
  std::int64_t element_bits = 0;
};

struct HeldPlan {
  double weight = 0;  // units of the rating per GiB moved
  // By table. Tables that the old plan lacks are absent; placing them costs nothing.
  std::vector<std::optional<HeldTable>> tables;
};

// What having a shard on a rank costs beside the rating.
// Thread safety: immutable. Does not refer to the plan.
class MoveCharges {
 public:
  // Null: nothing costs anything.
  explicit MoveCharges(const HeldPlan* held);

  // Returns false if no shard of the table costs anything.
  bool has(TableId table) const {
    return table.index() < tables_.size() && tables_[table.index()].has_value();
  }
  // In units of the rating. Bytes are rounded down shard by shard, so a plan is charged no more
  // than weight x GiB moved, but for the rounding of sums. Precondition: has().
  double charge(TableId table, const TensorPart& part, Rank rank) const;

 private:
  struct Table {
    HeldParts parts;
    std::int64_t element_bits = 0;
  };
  double per_byte_ = 0;
  std::vector<std::optional<Table>> tables_;
};

}  // namespace shardwright::embedding
