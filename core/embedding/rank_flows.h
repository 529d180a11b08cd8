// Counts what moves between ranks when the shards of tables change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// A cut of a tensor with the rank of every shard; both are borrowed.
struct PlacedLayout {
  const ShardLayout* layout = nullptr;  // null if the cut is not known
  std::function<std::int64_t(std::uint32_t shard)> rank_of;
};

// The rows and columns of a shard.
struct TensorPart {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;

  std::int64_t area() const { return rows * columns; }
  friend bool operator==(const TensorPart&, const TensorPart&) = default;
};

// The intersection of two parts; without rows or columns if empty.
TensorPart shared_part(const TensorPart& a, const TensorPart& b);

// The part of every shard.
std::vector<TensorPart> parts_of(const ShardLayout& layout);

// The parts of a tensor that ranks hold.
// Thread safety: immutable.
class HeldParts {
 public:
  // O(shards log shards).
  explicit HeldParts(const PlacedLayout& placed);

  // Returns the number of elements of the part that no shard on the rank covers. O(log shards +
  // shards on the rank).
  std::int64_t missing(const TensorPart& part, std::int64_t rank) const;

 private:
  struct Held {
    std::int64_t rank = 0;
    TensorPart part;
  };
  std::vector<Held> held_;  // in the order of ranks
};

// Returns the number of elements that the ranks of `to` do not hold yet: all elements if `from` is
// not known. O(shards x shards on one rank).
std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to);

// The bytes of elements of `bits` each, rounded down.
std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits);

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

// Charges for moving shards to ranks, which add to the rating.
// Thread safety: immutable. Does not refer to the plan.
class MoveCharges {
 public:
  // `held` may be null: there are no charges.
  explicit MoveCharges(const HeldPlan* held);

  // Returns false if no shard of the table is charged.
  bool has(TableId table) const {
    return table.index() < tables_.size() && tables_[table.index()].has_value();
  }
  // Returns the charge in units of the rating. Bytes are rounded down shard by shard, so a plan is
  // charged no more than weight x GiB moved, but for the rounding of sums. Precondition: has().
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
// of a table receives the part from a rank that held it; if several did, from the one with the
// closest number. What a rank holds itself is not counted.
// Thread safety: one thread at a time.
class RankFlows {
 public:
  // Divides the ranks into blocks of `block` consecutive ranks. Preconditions: both are at least 1.
  RankFlows(std::int64_t ranks, std::int64_t block)
      : ranks_(ranks),
        block_(block),
        num_blocks_((ranks + block - 1) / block),
        bytes_(static_cast<std::size_t>(num_blocks_ * num_blocks_)) {}

  std::int64_t ranks() const { return ranks_; }
  std::int64_t ranks_per_block() const { return block_; }
  std::int64_t num_blocks() const { return num_blocks_; }
  // The bytes that block `from` sends to block `to`; capped at 2^63 - 1.
  std::int64_t bytes(std::int64_t from, std::int64_t to) const {
    return bytes_[static_cast<std::size_t>(from * num_blocks_ + to)];
  }

  // Adds a table whose elements have `bits` bits. Ranks beyond ranks() are left out. Parts that no
  // old shard holds have no sender. O(shards x old shards that overlap one).
  void add(const PlacedLayout& from, const PlacedLayout& to, std::int64_t bits);

 private:
  std::int64_t ranks_, block_, num_blocks_;
  std::vector<std::int64_t> bytes_;  // by sender, then receiver
};

}  // namespace shardwright::embedding
