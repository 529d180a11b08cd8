// The search of compat mode: TorchRec's planner loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/compat/proposal_source.h"
#include "search/embedding/compat/proposals.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// An exploration domain (search/explore.h). Proposes with ProposalSource, lets workers partition
// and rate proposals with ProposalEvaluator, and takes in the outcomes. De-duplication, counting,
// the choice of the best plan and feedback happen in proposal order on the exploring thread, so the
// result does not depend on the number of workers.
// Source: EmbeddingShardingPlanner.plan, torchrec/distributed/planner/planners.py.
// Thread safety: see search/explore.h.
class EmbeddingSearch {
 public:
  EmbeddingSearch(OptionPool& pool, const Topology& available, unsigned workers, bool trace,
                  SearchParts parts = {}, const ProposalWork& work = {});

  // The members that explore() calls; see search/explore.h.
  std::size_t batches_in_flight() const { return kBatchesInFlight; }
  std::size_t propose(std::size_t slot, const Budget& budget);
  RangeSizes range_sizes() const { return kGrain; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget);
  bool synchronize(std::size_t slot, Budget& budget);

  // Moves on to the next proposer. Returns false if there is none. Precondition: no exploration is
  // running.
  bool skip_to_next_proposer() { return source_.skip_to_next_proposer(); }

  // Largest number of proposals of all proposers, including repeated proposals.
  std::uint64_t proposals_at_most() const { return source_.proposals_at_most(); }
  std::uint64_t num_proposals() const { return num_proposals_; }
  std::uint64_t num_plans() const { return num_plans_; }
  bool has_plan() const { return best_plan_.has_value(); }
  // The best plan so far. A Plan is made only when a candidate becomes the best. The first plan is
  // built whole, every later plan is an edit of its predecessor.
  const std::optional<Plan>& best_plan() const { return best_plan_; }
  const PlanCopies& copies() const { return copies_; }
  double best_rating() const { return best_.rating; }
  // The least total storage of a failed proposal; nothing if no proposal failed.
  const std::optional<Storage>& lowest_failed_storage() const { return lowest_failed_.storage; }
  // The failed proposal of least total storage, for a diagnosis.
  const std::vector<OptionId>& lowest_failed_options() const { return lowest_failed_.options; }
  const std::vector<ProposalRecord>& trace() const { return trace_; }

 private:
  // Least number of proposals per range. In shorter ranges, the jump to the first proposal takes
  // longer than the walk over the others.
  static constexpr std::size_t kGrain = 4;
  // One batch is taken in, one is proposed, and two keep the workers busy meanwhile.
  static constexpr std::size_t kBatchesInFlight = 4;

  struct LowestFailure {
    std::size_t index = BestCandidate::kNone;  // in the batch being taken in
    std::optional<Storage> storage;
    std::vector<OptionId> options;
  };

  ProposalEvaluator& evaluator(std::size_t worker);
  std::size_t take_in(CandidateBatch& batch, Budget& budget);
  void count(const CandidateBatch& batch, std::size_t index, Budget& budget);
  void keep_best(CandidateBatch& batch);
  void publish(std::span<const OptionId> options, std::span<const Rank> ranks);
  void add_to_trace(CandidateBatch& batch, std::size_t index, const ProposalOutcome& outcome);

  OptionPool* pool_;
  Topology available_;
  SearchParts parts_;
  ProposalSource source_;
  bool keep_trace_;
  ProposalWork work_;
  bool needs_ratings_;  // of all proposals
  std::vector<std::unique_ptr<ProposalEvaluator>> evaluators_;  // by worker; last: the explorer's
  std::array<CandidateBatch, kBatchesInFlight> batches_;        // by slot
  bool has_gap_ = false;  // a candidate without an outcome ended the trace

  std::uint64_t num_proposals_ = 0;
  std::uint64_t num_plans_ = 0;
  BestCandidate best_;
  std::optional<Plan> best_plan_;
  PlanCopies copies_;
  LowestFailure lowest_failed_;
  std::vector<ProposalRecord> trace_;
};

}  // namespace shardwright::embedding
