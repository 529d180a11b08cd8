// Batches of proposals, and their outcomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// One position of a proposal takes another option.
struct ProposalChange {
  std::uint32_t position = 0;
  OptionId option;

  friend bool operator==(const ProposalChange&, const ProposalChange&) = default;
};

// The work that an evaluated proposal counts as. The default is for compat mode's work limit.
struct ProposalWork {
  std::uint64_t per_shard = 1;
  std::uint64_t per_placement = 0;  // see ProposalBatch::Step
  std::uint64_t per_proposal = 0;
};

// Consecutive proposals of one proposer. A Step stores a proposal as changes to the proposal
// before, with totals of the whole proposal. base() is the proposal before the first step.
// Thread safety: const members may be called from any thread.
class ProposalBatch {
 public:
  struct Step {
    std::uint32_t first_change = 0;
    std::uint32_t num_changes = 0;
    bool full = false;  // changes every position; the order of tables may change
    OptionSetKey key;
    Storage storage = {};  // over all shards of all options
    std::uint64_t num_shards = 0;
    // Work of partitioning: 1 per shard whose rank is chosen, 1 per uniform option.
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
  // Starts the next batch of the proposer that filled `previous`, which may be this batch. The last
  // proposal of `previous` becomes the base. No proposal may be added to `previous` afterwards;
  // other threads may use its const members. O(tables).
  void continue_from(ProposalBatch& previous) {
    base_ = previous.current_;
    running_ = previous.running_;
    current_.swap(previous.current_);
    steps_.clear();
    changes_.clear();
  }

  // Reserves memory for `proposals` proposals of few changes each.
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

// A proposal in the order of the search, with its outcome. Option ids are indices into the option
// list of the trace.
struct ProposalRecord {
  std::uint32_t proposer = 0;
  bool full = false;  // `changes` lists every position, otherwise those that differ from the
                      // previous proposal of this proposer
  std::vector<ProposalChange> changes;
  bool cached = false;  // the same set of options was proposed before
  bool feasible = false;
  std::optional<double> rating;  // of a feasible proposal
  std::string ranks_sha1;        // 16 hex digits; empty if cached or not feasible
};

// The outcome of partitioning and rating one proposal.
struct ProposalOutcome {
  bool feasible = false;
  double rating = 0;  // of a feasible proposal; infinite if worse than the best known
};

// The distinct proposals in the order in which they were first made, by fingerprint. A hash table
// with open addressing that grows by doubling.
// Thread safety: none; the thread that proposes and takes in owns it.
class ProposalCache {
 public:
  using Index = std::uint32_t;

  struct Found {
    Index index;
    bool is_new;
  };
  // Finds the entry with this key, or appends one.
  Found insert(const OptionSetKey& key) {
    if ((entries_.size() + 1) * 2 > table_.size()) grow();
    const std::size_t at = slot_of(key);
    if (table_[at] != kFree) return {table_[at], false};
    table_[at] = static_cast<Index>(entries_.size());
    entries_.push_back({key, {}, false});
    return {table_[at], true};
  }

  // Reserves memory for `entries` entries in all.
  void reserve(std::size_t entries) {
    while (entries * 2 > table_.size())
      grow();
  }

  // The outcome of an entry; null before set_outcome().
  const ProposalOutcome* outcome(Index index) const {
    return entries_[index].known ? &entries_[index].outcome : nullptr;
  }
  void set_outcome(Index index, const ProposalOutcome& outcome) {
    entries_[index].outcome = outcome;
    entries_[index].known = true;
  }

  // Removes the entries from `size` on, the latest first. Older entries can still be found: they
  // were inserted earlier, so their probes pass no slot of a later entry.
  void truncate(std::size_t size) {
    while (entries_.size() > size) {
      table_[slot_of(entries_.back().key)] = kFree;
      entries_.pop_back();
    }
  }

  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr Index kFree = ~Index{0};
  static constexpr std::size_t kFirstTableSize = 1024;

  struct Entry {
    OptionSetKey key;
    ProposalOutcome outcome;
    bool known;
  };

  // The slot of the key, or where it would be inserted.
  std::size_t slot_of(const OptionSetKey& key) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = key.low & mask;
    while (table_[at] != kFree && !(entries_[table_[at]].key == key))
      at = (at + 1) & mask;
    return at;
  }
  // Doubles the table, or makes the first one, and inserts all entries again in their order,
  // because truncate() relies on that order.
  void grow() {
    table_.assign(table_.empty() ? kFirstTableSize : table_.size() * 2, kFree);
    entries_.reserve(table_.size() / 2);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      table_[slot_of(entries_[i].key)] = static_cast<Index>(i);
  }

  std::vector<Entry> entries_;
  std::vector<Index> table_;
};

// The best proposal of a range or of a batch, with the ranks of its shards.
// Thread safety: a value.
struct BestCandidate {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t index = kNone;  // in the batch
  double rating = std::numeric_limits<double>::infinity();
  std::vector<OptionId> options;
  std::vector<Rank> ranks;  // by rank slot

  // Returns true if a proposal with the other rating and index is better; on ties, if it is
  // earlier.
  bool loses_to(double other_rating, std::size_t other_index) const {
    return other_rating < rating || (other_rating == rating && other_index < index);
  }
  // Does not free memory.
  void clear() {
    index = kNone;
    rating = std::numeric_limits<double>::infinity();
  }
};

// A batch of proposals on its way through the search. The proposing thread fills everything except
// results. Workers write the results of the candidates in their range, and offer the best. The
// proposing thread reads all results after the workers have ended.
// Thread safety: const members and offer_best() from any thread during evaluation; distinct
// elements of `candidates` and `ranks_sha1` may be written concurrently.
class CandidateBatch {
 public:
  explicit CandidateBatch(const OptionPool& pool) : proposals(pool) {}

  struct Candidate {
    ProposalCache::Index entry = 0;
    bool is_new = false;  // false: an earlier proposal has the same options
    bool done = false;    // `outcome` is set
    ProposalOutcome outcome;
  };

  ProposalBatch proposals;
  std::vector<Candidate> candidates;    // one per proposal within the work limit
  std::vector<std::string> ranks_sha1;  // by candidate; empty without a trace
  std::uint64_t serial = 0;             // differs for every batch of a search
  std::uint32_t proposer = 0;
  std::size_t known_before = 0;    // size of the cache before this batch
  std::uint64_t planned_work = 0;  // work of the new candidates
  double rating_to_beat = 0;       // the best rating known when the batch was proposed

  void clear_best() { best_.clear(); }
  // Swaps `found` with the batch's best candidate if `found` is better. O(1).
  void offer_best(BestCandidate& found) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (best_.loses_to(found.rating, found.index)) std::swap(best_, found);
  }
  // Precondition: no evaluation is running.
  BestCandidate& best() { return best_; }

 private:
  std::mutex mutex_;
  BestCandidate best_;
};

}  // namespace shardwright::embedding
