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

// What a proposer learns about one of its proposals.
struct ProposalFeedback {
  ProposalOutcome outcome;
  std::int64_t hbm_bytes = 0;  // over all shards of the proposal
};

// Proposes lists of options, one option per table of the pool, in any order of tables. The search
// calls propose() and feedback() from one thread.
// Thread safety: none; one search owns it.
class Proposer {
 public:
  virtual ~Proposer() = default;

  // Largest `limit` of propose(): 1 if each proposal depends on the last feedback.
  virtual std::size_t look_ahead() const = 0;

  // Returns true if later proposals depend on feedback(), or if propose() adds options to the pool.
  // Then feedback() is called for every proposal, in order, before propose() is called again.
  // Otherwise feedback() is never called, and propose() is called while other batches are
  // evaluated.
  virtual bool needs_feedback() const { return true; }

  // Returns true if the proposer uses the ratings in its feedback. Otherwise a rating is exact only
  // if it is the best so far.
  virtual bool uses_ratings() const { return needs_feedback(); }

  // Largest number of proposals altogether, including repeated proposals.
  virtual std::uint64_t proposals_at_most() const = 0;

  // Appends up to `limit` proposals to `batch`; none if the proposer has finished. May add options
  // to `pool` if needs_feedback().
  virtual void propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) = 0;

  // Receives the outcome of the next proposal, in proposal order. Returns false to stop: later
  // proposals are withdrawn, and propose() is not called again.
  virtual bool feedback(const ProposalFeedback&) { return true; }
};

// Returns the proposer that `spec` names, with the options of `pool`. `available`: the topology
// after reservation. `cost_model` estimates options that the proposer adds to the pool; null =
// Estimator.
// Source: load() of every proposer, torchrec/distributed/planner/proposers.py.
std::unique_ptr<Proposer> make_proposer(const ProposerSpec& spec, const OptionPool& pool,
                                        const Topology& available,
                                        const CostModel* cost_model = nullptr);

// Returns the options of every table, stably sorted by ascending time: of the slowest shard if
// `use_depth`, otherwise summed over the shards. Source: _sharding_option_score,
// torchrec/distributed/planner/proposers.py.
std::vector<OptionPool::TableOptions> sorted_by_perf(const OptionPool& pool, bool use_depth);

// Appends the proposal of every table's first option.
void push_first_options(const std::vector<OptionPool::TableOptions>& tables, ProposalBatch& batch);

// Each proposal moves one table to its next option: the table whose current option has the largest
// (largest shard HBM, total HBM, largest shard DDR, total DDR), on ties the first table. SSD does
// not count, as in TorchRec 1.9.2. With a threshold, stops after more than `threshold` ratings in a
// row that are not better than the best rating. Cost: O(log tables) per proposal. Source:
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

// Proposes all combinations of the tables' options, best options first; the last table varies
// fastest. Proposes nothing if there are more than max_proposals combinations.
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

// Makes a proposal per sharding type that every table offers, of each table's best option of this
// type. Types are in order of first appearance, tables in order of first appearance with the type.
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

// Divides the total HBM into hbm_bins_per_device bins per rank. The first proposal has the least
// HBM. Then follows, for every bin from most to least HBM, the combination of least total time
// whose HBM is in this bin. If the reservation exceeds the HBM, the size of a bin is negative, and
// negative bins count from the end, as in TorchRec's lists. If a total lies before the first bin,
// TorchRec raises an IndexError; here only the first proposal is made.
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
  struct Back {
    std::int32_t option = -1;  // of the last table
    std::int32_t bin = -1;     // bin of the tables before
  };

  void solve(const OptionPool& pool);
  template <class Bins>
  void solve_with(const Bins& bins, double bin_size, const OptionPool& pool);
  void propose_by_bin(const std::vector<Back>& back);  // by table and bin

  std::vector<OptionPool::TableOptions> tables_;  // sorted by total HBM, like their options
  std::int64_t hbm_bytes_ = 0;                    // available on all ranks together
  std::size_t bin_count_ = 0;
  std::vector<std::vector<OptionId>> proposals_;
  std::size_t next_ = 0;
  bool started_ = false;
  bool solved_ = false;
};

}  // namespace shardwright::embedding
