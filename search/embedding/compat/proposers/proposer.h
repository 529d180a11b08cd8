// The interface of proposers, which choose the combinations of options to try.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/estimate/cost_model.h"
#include "search/embedding/compat/proposals/proposal_batch.h"
#include "search/embedding/compat/proposals/proposal_cache.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// What a proposer learns of one of its proposals.
struct ProposalFeedback {
  ProposalOutcome outcome;
  std::int64_t hbm_bytes = 0;  // over all shards of the proposal
};

// Proposes complete lists of options, one per table of the pool in any order. The search calls
// propose and feedback from the thread that called it, never both at once.
// Thread safety: none; one search owns it.
class Proposer {
 public:
  virtual ~Proposer() = default;

  // How many proposals may be asked for at once: 1 if each depends on the feedback of the one
  // before.
  virtual std::size_t look_ahead() const = 0;

  // Returns true if later proposals depend on feedback(), or if propose() adds options to the pool.
  // Then propose and feedback alternate: a batch of proposals, then the feedback of each in order.
  // Otherwise feedback is never called, and batches are proposed while others are evaluated.
  virtual bool needs_feedback() const { return true; }

  // Returns true if it acts on the ratings of its feedback. Otherwise those are exact only if they
  // are the best so far.
  virtual bool uses_ratings() const { return needs_feedback(); }

  // How many proposals it may make altogether, repeated ones included.
  virtual std::uint64_t proposals_at_most() const = 0;

  // Appends up to `limit` proposals to `batch`, none if it has finished. May add options to `pool`
  // if it needs feedback.
  virtual void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) = 0;

  // Tells the outcome of its next proposal in order. Returns false to stop: the proposals after
  // this one are withdrawn, and propose() is not called again.
  virtual bool feedback(const ProposalFeedback&) { return true; }
};

// The proposer that `spec` names, loaded with the options of `pool`. `available` is the topology
// after reservation. `cost_model` estimates options that it adds to the pool; null = the Estimator.
// Source: load() of every proposer, torchrec/distributed/planner/proposers.py.
std::unique_ptr<Proposer> make_proposer(const ProposerSpec& spec, const OptionPool& pool,
                                        const Topology& available,
                                        const CostModel* cost_model = nullptr);

// The options of every table, best first: by their slowest shard if `use_depth`, otherwise by the
// sum over shards. Stable. Source: _sharding_option_score,
// torchrec/distributed/planner/proposers.py.
std::vector<OptionPool::TableOptions> sorted_by_perf(const OptionPool& pool, bool use_depth);

// Appends the proposal of every table's first option.
void push_first_options(const std::vector<OptionPool::TableOptions>& tables, ProposalBatch& batch);

}  // namespace shardwright::embedding
