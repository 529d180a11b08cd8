// One proposal on its way through partitioning and rating.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/embedding/compat/partitioners/greedy_perf.h"
#include "search/embedding/compat/proposals/proposal_batch.h"
#include "search/embedding/compat/proposals/proposal_cache.h"
#include "search/embedding/compat/search_parts.h"

namespace shardwright::embedding {

// Walks along a batch, carrying over from one proposal to the next what did not change.
// Thread safety: none; one worker uses it.
class ProposalLane {
 public:
  ProposalLane(const OptionPool& pool, const Topology& available, const SearchParts& parts);

  // Takes proposal `index` of the batch; the less it differs from the one taken last, the cheaper.
  void take(const ProposalBatch& batch, std::size_t index);
  // Forgets the last proposal: the batch has been refilled.
  void invalidate() { taken_ = kNothing; }
  std::size_t taken() const { return taken_; }

  // Partitions the proposal taken: start, then run to the end. No allocation in the steady state.
  void start();
  bool running() const { return greedy_ != nullptr && greedy_->running(); }
  void run() {
    while (running())
      greedy_->step();
  }
  // Advances two lanes at once, until one of them is at its end. Precondition: different lanes.
  static void run_together(ProposalLane& a, ProposalLane& b) {
    while (a.running() && b.running())
      GreedyPerfPartitioner::step_together(*a.greedy_, *b.greedy_);
  }
  // The outcome, once nothing is running. Where the rating is certain to be worse than `bound`, it
  // is not computed and infinite.
  ProposalOutcome finish(double bound);

  // Of the proposal just finished, where it was feasible: the placement, by rank slot (allocates
  // only where `saved` is too small), and the hash of all ranks that TorchRec's golden answers
  // carry.
  void save_placement(std::vector<Rank>& saved) const {
    const auto ranks = placement_.all_ranks();
    saved.assign(ranks.begin(), ranks.end());
  }
  std::string ranks_sha1() const;

 private:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  void walk(const ProposalBatch& batch, std::size_t index);
  void jump(const ProposalBatch& batch, std::size_t index);

  const OptionPool* pool_;
  std::unique_ptr<Partitioner> partitioner_;
  GreedyPerfPartitioner* greedy_;  // the partitioner, where it can be advanced step by step
  std::unique_ptr<RatingModel> rating_model_;
  Placement placement_;
  GroupOrder order_;
  bool feasible_ = false;
  std::vector<OptionId> options_;
  std::size_t taken_ = kNothing;
  std::vector<OptionId> previous_;  // scratch of jump
  std::vector<std::uint32_t> changed_positions_;
};

}  // namespace shardwright::embedding
