// Counts who sends how much to whom when tables get another place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/moves/moved_elements.h"

namespace shardwright::embedding {

// Bytes from every block of ranks to every other one. A rank that lacks a part of a table gets it
// from one that held it: of several copies, from the one with the closest number. What a rank holds
// itself is not counted.
// Thread safety: one thread at a time.
class RankFlows {
 public:
  // Blocks of `block` ranks that follow each other. Preconditions: both are at least 1.
  RankFlows(std::int64_t ranks, std::int64_t block)
      : ranks_(ranks),
        block_(block),
        num_blocks_((ranks + block - 1) / block),
        bytes_(static_cast<std::size_t>(num_blocks_ * num_blocks_)) {}

  std::int64_t ranks() const { return ranks_; }
  std::int64_t ranks_per_block() const { return block_; }
  std::int64_t num_blocks() const { return num_blocks_; }
  // Of the blocks, by number; 2^63 - 1 stands for all that are more.
  std::int64_t bytes(std::int64_t from, std::int64_t to) const {
    return bytes_[static_cast<std::size_t>(from * num_blocks_ + to)];
  }

  // Adds a table with elements of `bits`. Ranks beyond ranks() are left out. Parts that the old
  // place does not have come from nobody. O(shards x old shards that overlap one).
  void add(const PlacedLayout& from, const PlacedLayout& to, std::int64_t bits);

 private:
  std::int64_t ranks_, block_, num_blocks_;
  std::vector<std::int64_t> bytes_;  // by sender, then receiver
};

}  // namespace shardwright::embedding
