// TorchRec's GreedyProposer: the best option of every table, then the next option of the largest
// table.
#pragma once

#include <limits>
#include <vector>

#include "search/embedding/compat/proposers/proposer.h"

namespace shardwright::embedding {

// Each proposal moves one table to its next option: the table whose current option has the largest
// (largest shard HBM, total HBM, largest shard DDR, total DDR), the first such table on ties; SSD
// does not count, as in TorchRec 1.9.2. With a threshold it stops after that many ratings in a row
// that are no better. Cost: O(log tables) per proposal. Source: GreedyProposer,
// torchrec/distributed/planner/proposers.py (commit a48cef79).
class GreedyProposer final : public Proposer {
 public:
  GreedyProposer(const ProposerSpec& spec, const OptionPool& pool);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return threshold_.has_value(); }
  std::uint64_t proposals_at_most() const override { return proposals_at_most_; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;
  bool feedback(const ProposalFeedback& feedback) override;

 private:
  struct Advance {
    Storage max_storage, storage;
    std::uint32_t position;

    // Order of a max-heap: larger storage first, then the earlier table.
    bool operator<(const Advance& other) const {
      for (const MemoryTier tier : {MemoryTier::kHbm, MemoryTier::kDdr}) {
        if (max_storage[tier] != other.max_storage[tier])
          return max_storage[tier] < other.max_storage[tier];
        if (storage[tier] != other.storage[tier]) return storage[tier] < other.storage[tier];
      }
      return position > other.position;
    }
  };

  void offer(const OptionPool& pool, std::uint32_t position);

  std::vector<OptionPool::TableOptions> tables_;  // options best first
  std::vector<std::uint32_t> index_;              // current option of every table
  std::vector<Advance> heap_;                     // tables that have a next option
  std::optional<std::int64_t> threshold_;
  double best_rating_ = std::numeric_limits<double>::infinity();
  std::int64_t num_inferior_ = 0;
  std::uint64_t proposals_at_most_ = 1;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace shardwright::embedding
