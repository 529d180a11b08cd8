// The interface of proposers: which combination of options to try next.
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

// What a proposer learns of a proposal of its own.
struct ProposalFeedback {
  ProposalOutcome outcome;
  std::int64_t hbm_bytes = 0;  // that the proposal asks for, over all shards
};

// Proposes complete lists of options, one per table of the pool in any order. The search calls
// propose and feedback from one thread, in alternation: a batch of proposals, then the feedback of
// each in order.
// Thread safety: none; one search owns it.
class Proposer {
 public:
  virtual ~Proposer() = default;

  // How many proposals may be asked for at once: 1 for proposers whose next proposal depends on the
  // feedback of the last.
  virtual std::size_t look_ahead() const = 0;

  // Whether it acts on the ratings that it is told; otherwise they are exact only where they are
  // the best so far.
  virtual bool uses_ratings() const { return true; }

  // How many proposals it may make altogether, repeated ones included.
  virtual std::uint64_t proposals_at_most() const = 0;

  // Appends up to `limit` proposals to `batch`; none = finished. May add options to `pool`.
  virtual void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) = 0;

  // Learns of the next proposal in order. False = stop: what was proposed beyond it is withdrawn,
  // and propose gives nothing more.
  virtual bool feedback(const ProposalFeedback&) { return true; }
};

// The proposer that `spec` names, loaded with the options of `pool`; `available` is the topology
// after reservation. Options that it adds to the pool are estimated by `cost_model`, null = the
// Estimator. Source: load() of every proposer, torchrec/distributed/planner/proposers.py.
std::unique_ptr<Proposer> make_proposer(const ProposerSpec& spec, const OptionPool& pool,
                                        const Topology& available,
                                        const CostModel* cost_model = nullptr);

// Options of every table, best first, for proposers that rank them by the largest shard (depth) or
// by the sum over shards. Stable. Source: _sharding_option_score.
std::vector<OptionPool::TableOptions> sorted_by_perf(const OptionPool& pool, bool use_depth);

// Appends the proposal of every table's first option.
void push_first_options(const std::vector<OptionPool::TableOptions>& tables, ProposalBatch& batch);

}  // namespace shardwright::embedding
