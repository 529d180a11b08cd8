// Consecutive proposals of one proposer, each stored as its difference from the one before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// One position of a proposal takes another option.
struct ProposalChange {
  std::uint32_t position = 0;
  OptionId option;

  friend bool operator==(const ProposalChange&, const ProposalChange&) = default;
};

// Work that an evaluated proposal counts as. The default is the work limit of compat mode.
struct ProposalWork {
  std::uint64_t per_shard = 1;
  std::uint64_t per_placement = 0;  // see ProposalBatch::Step
  std::uint64_t per_proposal = 0;
};

// `base` is the proposal before the first; a step is a list of changes to its predecessor. Every
// step has totals, so that nobody adds up what did not change.
// Thread safety: const members may be called from any thread.
class ProposalBatch {
 public:
  struct Step {
    std::uint32_t first_change = 0;
    std::uint32_t num_changes = 0;
    bool full = false;  // changes every position; the tables' order may differ from before
    OptionSetKey key;
    Storage storage = {};  // over all shards of all options
    std::uint64_t num_shards = 0;
    // What partitioning costs: one per shard whose rank is chosen, one per uniform option.
    std::uint64_t num_placements = 0;

    std::uint64_t work(const ProposalWork& own) const {
      return own.per_shard * num_shards + own.per_placement * num_placements + own.per_proposal;
    }
  };

  explicit ProposalBatch(const OptionPool& pool) : pool_(&pool) {}

  // Starts the first batch of a proposer.
  void reset() {
    steps_.clear();
    changes_.clear();
    base_.clear();
    current_.clear();
    running_ = Step();
  }
  // Starts the next batch of the proposer that filled `previous`, this batch or another one, whose
  // last proposal becomes the base. `previous` keeps its proposals but takes no further ones; its
  // const members may be in use elsewhere. O(tables).
  void continue_from(ProposalBatch& previous) {
    base_ = previous.current_;
    running_ = previous.running_;
    current_.swap(previous.current_);
    steps_.clear();
    changes_.clear();
  }

  // Reserves memory for this many proposals of few changes each.
  void reserve(std::size_t proposals) {
    steps_.reserve(proposals);
    changes_.reserve(proposals + current_.size());
  }

  // Appends a proposal given in full.
  void push_full(std::span<const OptionId> options) {
    begin_step();
    running_ = Step{static_cast<std::uint32_t>(changes_.size()), 0, true, {}, {}, 0, 0};
    current_.assign(options.begin(), options.end());
    for (std::size_t i = 0; i < options.size(); ++i) {
      changes_.push_back({static_cast<std::uint32_t>(i), options[i]});
      count(options[i], +1);
    }
    end_step();
  }

  // Appends the previous proposal with `changes` applied.
  void push_changes(std::span<const ProposalChange> changes) {
    begin_step();
    running_.full = false;
    for (const ProposalChange& change : changes) {
      OptionId& at = current_[change.position];
      count(at, -1);
      at = change.option;
      count(at, +1);
      changes_.push_back(change);
    }
    end_step();
  }

  std::size_t size() const { return steps_.size(); }
  bool empty() const { return steps_.empty(); }
  const Step& step(std::size_t i) const { return steps_[i]; }
  std::span<const ProposalChange> changes(const Step& step) const {
    return {changes_.data() + step.first_change, step.num_changes};
  }
  std::span<const OptionId> base() const { return base_; }
  const OptionPool& pool() const { return *pool_; }

  // Writes the options of proposal i into `options`. O(tables + changes up to i).
  void expand(std::size_t i, std::vector<OptionId>& options) const {
    options.assign(base_.begin(), base_.end());
    for (std::size_t s = 0; s <= i; ++s) {
      if (steps_[s].full) options.resize(steps_[s].num_changes);
      for (const ProposalChange& change : changes(steps_[s]))
        options[change.position] = change.option;
    }
  }

 private:
  void begin_step() { running_.first_change = static_cast<std::uint32_t>(changes_.size()); }
  void end_step() {
    running_.num_changes = static_cast<std::uint32_t>(changes_.size()) - running_.first_change;
    steps_.push_back(running_);
  }
  void count(OptionId id, int sign) {
    const OptionRow& row = pool_->row(id);
    if (sign > 0) {
      running_.key += pool_->token(id);
    } else {
      running_.key -= pool_->token(id);
    }
    running_.storage += sign * row.storage;
    running_.num_shards += static_cast<std::uint64_t>(sign) * row.num_shards;
    running_.num_placements += static_cast<std::uint64_t>(sign) *
                               (row.partition_by == PartitionBy::kUniform ? 1 : row.num_shards);
  }

  const OptionPool* pool_;
  std::vector<Step> steps_;
  std::vector<ProposalChange> changes_;
  std::vector<OptionId> base_;
  std::vector<OptionId> current_;
  Step running_;
};

}  // namespace shardwright::embedding
