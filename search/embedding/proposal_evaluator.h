// Partitions and rates proposals: one worker's half of the search.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/embedding/partitioners/greedy_perf.h"
#include "search/embedding/partitioners/memory_balanced.h"
#include "search/embedding/proposal_batch.h"
#include "search/embedding/proposal_cache.h"

namespace shardwright::embedding {

// Walks along a batch, carrying over from one proposal to the next what did not change.
// Thread safety: none; one per worker.
class ProposalEvaluator {
 public:
  ProposalEvaluator(const OptionPool& pool, const Topology& available);

  // Takes proposal `index` of the batch; cheap where it follows the one taken last.
  void take(const ProposalBatch& batch, std::size_t index);
  // Forgets the last proposal: the batch has been refilled.
  void invalidate() { taken_ = kNothing; }

  // Partitions and rates the proposal taken. No allocation in the steady state.
  ProposalOutcome evaluate();

  // Of the proposal just evaluated, where it was feasible: the options in proposal order, the ranks
  // of all shards in that order, and the 16 hex digits that TorchRec's golden answers identify
  // them by.
  std::span<const OptionId> options() const { return options_; }
  std::vector<Rank> ranks() const;
  std::string ranks_sha1() const;
  // Where it was not feasible: the position that found no place, kNone = the uniform options.
  std::uint32_t failed_position() const;

 private:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  bool partition();

  const OptionPool* pool_;
  PartitionerSpec partitioner_;
  PerfModel perf_model_;
  Placement placement_;
  GroupOrder order_;
  GreedyPerfPartitioner greedy_;
  MemoryBalancedPartitioner memory_balanced_;
  std::vector<OptionId> options_;
  std::size_t taken_ = kNothing;
  std::vector<double> perf_by_rank_;
  std::vector<std::int64_t> hbm_by_rank_;
};

}  // namespace shardwright::embedding
