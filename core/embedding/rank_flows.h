// Counts the elements and bytes that move between ranks when the shards of tables change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// A division of a tensor into shards, and the rank of every shard. Owns neither.
struct PlacedLayout {
  const ShardLayout* layout = nullptr;  // null if not known
  std::function<std::int64_t(std::uint32_t shard)> rank_of;
};

// The rows and columns of a shard.
struct TensorPart {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;

  std::int64_t area() const { return rows * columns; }
  friend bool operator==(const TensorPart&, const TensorPart&) = default;
};

// Returns the intersection of two parts. An empty intersection has no rows or no columns.
TensorPart shared_part(const TensorPart& a, const TensorPart& b);

// Returns the part of every shard, in shard order.
std::vector<TensorPart> parts_of(const ShardLayout& layout);

// The parts of a tensor that ranks hold.
// Thread safety: immutable.
class HeldParts {
 public:
  // O(shards log shards).
  explicit HeldParts(const PlacedLayout& placed);

  // Returns the number of elements of `part` that no shard on `rank` covers. O(log shards + shards
  // on the rank).
  std::int64_t missing(const TensorPart& part, std::int64_t rank) const;

 private:
  struct Held {
    std::int64_t rank = 0;
    TensorPart part;
  };
  std::vector<Held> held_;  // in the order of ranks
};

// Returns the number of elements that the ranks of `to` do not hold in `from`. These are all
// elements if the layout of `from` is not known. O(shards x shards on one rank).
std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to);

// Returns the bytes of `elements` elements of `bits` bits each, rounded down.
std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits);

struct HeldTable {
  std::optional<ShardLayout> layout;  // absent if not known
  std::vector<std::int64_t> ranks;    // one per shard
  std::int64_t element_bits = 0;
};

struct HeldPlan {
  double weight = 0;  // units of the rating per GiB moved
  // Indexed by table. Tables that the old plan lacks are absent; placing them costs nothing.
  std::vector<std::optional<HeldTable>> tables;
};

// Charges for moving shards to ranks. Charges are added to the rating.
// Thread safety: immutable. Keeps no pointer to the plan.
class MoveCharges {
 public:
  // If `held` is null, there are no charges.
  explicit MoveCharges(const HeldPlan* held);

  // Returns false if moving the table costs nothing.
  bool has(TableId table) const {
    return table.index() < tables_.size() && tables_[table.index()].has_value();
  }
  // Returns the charge for placing `part` on `rank`, in units of the rating. Bytes are rounded down
  // for each shard. A plan is charged at most weight x GiB moved, up to rounding of sums.
  // Precondition: has(table).
  double charge(TableId table, const TensorPart& part, Rank rank) const;

 private:
  struct Table {
    HeldParts parts;
    std::int64_t element_bits = 0;
  };
  double per_byte_ = 0;
  std::vector<std::optional<Table>> tables_;
};

// Counts the bytes that every block of ranks sends to every other block. A rank that lacks a part
// of a table receives it from a rank that held the part before. If several ranks held the part, the
// rank with the closest number sends it. Parts that a rank already holds are not counted.
// Thread safety: one thread at a time.
class RankFlows {
 public:
  // Divides the ranks into blocks of `block` consecutive ranks. Both must be at least 1.
  RankFlows(std::int64_t ranks, std::int64_t block)
      : ranks_(ranks),
        block_(block),
        num_blocks_((ranks + block - 1) / block),
        bytes_(static_cast<std::size_t>(num_blocks_ * num_blocks_)) {}

  std::int64_t ranks() const { return ranks_; }
  std::int64_t ranks_per_block() const { return block_; }
  std::int64_t num_blocks() const { return num_blocks_; }
  // Returns the bytes that block `from` sends to block `to`, at most 2^63 - 1.
  std::int64_t bytes(std::int64_t from, std::int64_t to) const {
    return bytes_[static_cast<std::size_t>(from * num_blocks_ + to)];
  }

  // Adds the moves of one table, whose elements have `bits` bits. Ignores ranks beyond ranks(), and
  // parts that no old shard holds. O(shards x old shards that overlap one shard).
  void add(const PlacedLayout& from, const PlacedLayout& to, std::int64_t bits);

 private:
  std::int64_t ranks_, block_, num_blocks_;
  std::vector<std::int64_t> bytes_;  // by sender, then receiver
};

}  // namespace shardwright::embedding
