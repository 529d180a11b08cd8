// Counts how much of a tensor moves when its shards change.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/embedding/kinds/kinds.h"
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

// What two parts have in common; without rows or columns if that is nothing.
TensorPart shared_part(const TensorPart& a, const TensorPart& b);

// Shard by shard.
std::vector<TensorPart> parts_of(const ShardLayout& layout);

// The parts of a tensor that ranks hold.
// Thread safety: immutable.
class HeldParts {
 public:
  // O(shards log shards).
  explicit HeldParts(const PlacedLayout& placed);

  // The elements of the part that the rank does not hold: its area without what the shards on the
  // rank cover. O(log shards + shards on the rank).
  std::int64_t missing(const TensorPart& part, std::int64_t rank) const;

 private:
  struct Held {
    std::int64_t rank = 0;
    TensorPart part;
  };
  std::vector<Held> held_;  // in the order of ranks
};

// The elements that the ranks of `to` do not hold yet. All elements count if `from` is not known.
// O(shards x shards on one rank).
std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to);

// The bytes of elements of `bits` each, rounded down.
std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits);

}  // namespace shardwright::embedding
