// One proposal on its way through partitioning and rating.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/embedding/compat/partitioners/greedy_perf_partitioner.h"
#include "search/embedding/compat/proposals/candidate_batch.h"
#include "search/embedding/compat/proposals/proposal_batch.h"
#include "search/embedding/compat/proposals/proposal_cache.h"
#include "search/embedding/compat/search_parts.h"

namespace shardwright::embedding {

// Walks along a batch and carries over from one proposal to the next what did not change.
// Thread safety: none; one worker uses it.
class ProposalLane {
 public:
  ProposalLane(const OptionPool& pool, const Topology& available, const SearchParts& parts);

  // Takes proposal `index` of the batch. Cost: O(tables), or less if few changes lie between it and
  // the one taken last.
  void take(const ProposalBatch& batch, std::size_t index);
  // Call before the first proposal of another batch.
  void invalidate() { taken_ = kNothing; }
  std::size_t taken() const { return taken_; }

  // Partitions the proposal taken: start, then run to the end. No allocation in the steady state.
  void start();
  bool running() const { return greedy_ != nullptr && greedy_->running(); }
  template <class Stopped>
  void run(Stopped& stopped) {
    while (running() && !stopped())
      greedy_->step();
  }
  // Advances two lanes at once, until one of them is at its end. Precondition: different lanes.
  template <class Stopped>
  static void run_together(ProposalLane& a, ProposalLane& b, Stopped& stopped) {
    while (a.running() && b.running() && !stopped())
      GreedyPerfPartitioner::step_together(*a.greedy_, *b.greedy_);
  }
  // The outcome. A rating that is certain to be worse than `bound` is not computed and is infinite.
  // Precondition: not running.
  ProposalOutcome finish(double bound);

  // Copies options and ranks of the proposal just finished. Precondition: it was feasible.
  // Allocates only if the vectors of `saved` are too small.
  void save(BestCandidate& saved) const {
    saved.options.assign(options_.begin(), options_.end());
    const auto ranks = placement_.all_ranks();
    saved.ranks.assign(ranks.begin(), ranks.end());
  }
  // The hash of all its ranks. Precondition: it was feasible.
  std::string ranks_sha1() const;

 private:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  void walk(const ProposalBatch& batch, std::size_t index);
  void jump(const ProposalBatch& batch, std::size_t index);

  const OptionPool* pool_;
  std::unique_ptr<Partitioner> partitioner_;
  GreedyPerfPartitioner* greedy_;  // the partitioner if it can be advanced step by step
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
