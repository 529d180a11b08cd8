// The interface of proposers, which choose the combinations of options to try.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/proposals.h"
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

  // The number of proposals that may be asked for at once: 1 if each depends on the last feedback.
  virtual std::size_t look_ahead() const = 0;

  // Returns true if later proposals depend on feedback(), or if propose() adds options to the pool.
  // Then propose and feedback alternate: a batch of proposals, then the feedback of each in order.
  // Otherwise feedback is never called, and batches are proposed while others are evaluated.
  virtual bool needs_feedback() const { return true; }

  // Returns true if the proposer acts on the ratings in its feedback. Otherwise a rating is exact
  // only if it is the best so far.
  virtual bool uses_ratings() const { return needs_feedback(); }

  // How many proposals the proposer may make altogether, repeated ones included.
  virtual std::uint64_t proposals_at_most() const = 0;

  // Appends up to `limit` proposals to `batch`, none if it has finished. May add options to `pool`
  // if it needs feedback.
  virtual void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) = 0;

  // Receives the outcome of the next proposal, in proposal order. Returns false to stop: the
  // proposals after this one are withdrawn, and propose() is not called again.
  virtual bool feedback(const ProposalFeedback&) { return true; }
};

// The proposer that `spec` names, loaded with the options of `pool`. `available` is the topology
// after reservation. `cost_model` estimates options that it adds to the pool; null = the Estimator.
// Source: load() of every proposer, torchrec/distributed/planner/proposers.py.
std::unique_ptr<Proposer> make_proposer(const ProposerSpec& spec, const OptionPool& pool,
                                        const Topology& available,
                                        const CostModel* cost_model = nullptr);

// Returns the options of every table by ascending time: of the slowest shard if `use_depth`,
// otherwise summed over the shards. The order is stable. Source: _sharding_option_score,
// torchrec/distributed/planner/proposers.py.
std::vector<OptionPool::TableOptions> sorted_by_perf(const OptionPool& pool, bool use_depth);

// Appends the proposal of every table's first option.
void push_first_options(const std::vector<OptionPool::TableOptions>& tables, ProposalBatch& batch);

// Each proposal moves one table to its next option: the table whose current option has the largest
// (largest shard HBM, total HBM, largest shard DDR, total DDR), the first such table on ties; SSD
// does not count, as in TorchRec 1.9.2. With a threshold it stops after more than `threshold`
// ratings in a row that are not better than the best. Cost: O(log tables) per proposal. Source:
// GreedyProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
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

// All combinations of the tables' options, best first; the last table varies fastest. Proposes
// nothing if there are more than max_proposals combinations.
// Source: GridSearchProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
class GridSearchProposer final : public Proposer {
 public:
  GridSearchProposer(const ProposerSpec& spec, const OptionPool& pool);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return tables_.empty() ? 0 : product_; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;

 private:
  bool advance();

  std::vector<OptionPool::TableOptions> tables_;  // empty = skipped
  std::vector<std::uint32_t> index_;
  std::vector<ProposalChange> changes_;
  std::uint64_t product_ = 1;
  bool started_ = false;
  bool finished_ = false;
};

// One proposal per sharding type that every table offers, with each table's best option of this
// type. Types are in order of first appearance, tables in order of first appearance with that type.
// Source: UniformProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
class UniformProposer final : public Proposer {
 public:
  UniformProposer(const ProposerSpec& spec, const OptionPool& pool);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return proposals_.size(); }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;

 private:
  std::vector<std::vector<OptionId>> proposals_;
  std::size_t next_ = 0;
};

// Total HBM is divided into hbm_bins_per_device bins per rank. The first proposal is the one of
// least HBM. Then comes, for every bin from the fullest to the emptiest, the combination of least
// total time that ends in this bin. If the reservation exceeds the HBM, the size of a bin is
// negative, and negative bins count from the end, as in TorchRec's lists. For a total before the
// first bin, TorchRec raises an IndexError; here only the first proposal is made.
// Cost: O(tables x options x bins) time, O(tables x bins) memory, once.
// Source: DynamicProgrammingProposer, torchrec/distributed/planner/proposers.py (commit a48cef79).
class DynamicProgrammingProposer final : public Proposer {
 public:
  DynamicProgrammingProposer(const ProposerSpec& spec, const OptionPool& pool,
                             const Topology& available);

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return 1 + bin_count_; }
  void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) override;

 private:
  // How a combination came into its bin.
  struct Back {
    std::int32_t option = -1;  // of the last table
    std::int32_t bin = -1;     // of the tables before
  };

  void solve(const OptionPool& pool);
  template <class Bins>
  void solve_with(const Bins& bins, double bin_size, const OptionPool& pool);
  void propose_by_bin(const std::vector<Back>& back);  // by table and bin

  std::vector<OptionPool::TableOptions> tables_;  // sorted by total HBM, and their options too
  std::int64_t hbm_bytes_ = 0;                    // available over all ranks
  std::size_t bin_count_ = 0;
  std::vector<std::vector<OptionId>> proposals_;
  std::size_t next_ = 0;
  bool started_ = false;
  bool solved_ = false;
};

}  // namespace shardwright::embedding
