// The compat-mode search over sharding plans: TorchRec's planner loop as an exploration domain.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/plan_edit.h"
#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/compat/proposal_evaluator.h"
#include "search/embedding/compat/proposals/proposal_batch.h"
#include "search/embedding/compat/proposals/proposal_cache.h"
#include "search/embedding/compat/proposers/proposer.h"
#include "search/embedding/compat/search_parts.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// One proposal as a trace shows it.
struct TracedProposal {
  std::uint32_t proposer = 0;
  bool full = false;
  std::vector<ProposalChange> changes;
  bool cached = false;
  ProposalOutcome outcome;
  std::string ranks_sha1;
};

// Runs the proposers one after the other. Proposals of a batch are partitioned and rated
// concurrently; de-duplication, counting, the choice of the best and feedback happen in
// synchronize(), in proposal order, so that the result does not depend on the number of workers.
// Source: EmbeddingShardingPlanner.plan, torchrec/distributed/planner/planners.py.
class EmbeddingSearch {
 public:
  EmbeddingSearch(OptionPool& pool, const Topology& available, unsigned workers, bool trace,
                  SearchParts parts = {});

  // The members that explore() calls; see search/explore.h.
  std::size_t propose(const Budget& budget);
  std::size_t grain() const { return kGrain; }
  void evaluate(unsigned worker, std::size_t begin, std::size_t end, const Budget& budget);
  bool synchronize(Budget& budget);

  // How many proposals all proposers may make, repeated ones included.
  std::uint64_t proposals_at_most() const;
  std::uint64_t num_proposals() const { return num_proposals_; }
  std::uint64_t num_plans() const { return num_plans_; }
  bool has_plan() const { return best_plan_.has_value(); }
  // Candidates are rated in scratch. A Plan exists only for those that are kept: the first is made
  // whole, every later one is an edit of the one before.
  const std::optional<Plan>& best_plan() const { return best_plan_; }
  const PlanCopies& copies() const { return copies_; }
  double best_rating() const { return best_rating_; }
  // The least total storage of a proposal that failed; nothing where none did.
  const std::optional<Storage>& lowest_failed_storage() const { return lowest_failed_; }
  // The failed proposal of least total storage, for a diagnosis.
  const std::vector<OptionId>& lowest_failed_options() const { return lowest_failed_options_; }
  const std::vector<TracedProposal>& trace() const { return trace_; }

 private:
  static constexpr std::size_t kGrain = 4;
  // A batch takes long enough to be worth the workers' meeting at its end, and not so long that
  // nothing is heard of the search for seconds.
  static constexpr std::uint64_t kBatchPlacements = 1 << 22;
  static constexpr std::size_t kMinBatch = 64;
  static constexpr std::size_t kMaxBatch = 4096;

  // What a worker found out about one proposal of the batch.
  struct Evaluated {
    bool done = false;
    ProposalOutcome outcome;
    std::string ranks_sha1;
  };

  ProposalEvaluator& evaluator(unsigned worker);
  void refill();
  void check_batch() const;
  bool take_slice(const Budget& budget);
  bool is_lowest_failure(const ProposalBatch::Step& step);
  void keep_best(std::size_t index);
  void publish(std::span<const OptionId> options, std::span<const Rank> placement);
  void add_to_trace(std::size_t index, bool cached, const ProposalOutcome& outcome);

  OptionPool* pool_;
  Topology available_;
  SearchParts parts_;
  std::vector<std::unique_ptr<Proposer>> proposers_;
  std::vector<std::unique_ptr<ProposalEvaluator>> evaluators_;  // by worker
  bool keep_trace_;
  bool needs_ratings_;  // also of proposals that are worse than the best

  std::size_t proposer_ = 0;
  ProposalBatch batch_;
  std::size_t first_ = 0;       // of the batch, not yet synchronized
  std::size_t slice_size_ = 0;  // proposals from there on that the budget allows
  std::vector<Evaluated> evaluated_;
  ProposalCache cache_;

  std::uint64_t num_proposals_ = 0;
  std::uint64_t num_plans_ = 0;
  double best_rating_;
  std::optional<Plan> best_plan_;
  PlanCopies copies_;
  std::vector<OptionId> kept_options_;  // scratch of keep_best()
  std::vector<Rank> kept_placement_;    // the same, by rank slot
  std::optional<Storage> lowest_failed_;
  std::vector<OptionId> lowest_failed_options_;
  std::vector<TracedProposal> trace_;
};

}  // namespace shardwright::embedding
