// A plan: an immutable sharding option for every table and the ranks of its shards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "core/cow.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// The option of one table and the ranks of its shards. `ranks` is empty if shard i is on rank i.
struct Assignment {
  const ShardingOption* option = nullptr;
  SharedArray<Rank> ranks;

  // `shard_ranks` has one rank per shard, or is empty if shard i is on rank i. A uniform option
  // whose shard i is on rank i stores no ranks.
  static Assignment make(const ShardingOption& option, std::span<const Rank> shard_ranks) {
    SHARDWRIGHT_CHECK(shard_ranks.empty() || shard_ranks.size() == option.num_shards());
    if (option.partition_by() == PartitionBy::kUniform && in_rank_order(shard_ranks))
      return {&option, {}};
    return {&option, SharedArray<Rank>(shard_ranks)};
  }

  Rank rank(std::uint32_t shard) const { return ranks.size() == 0 ? shard : ranks[shard]; }

  // Returns true if make(other, shard_ranks) would equal this assignment. Does not allocate.
  bool is(const ShardingOption& other, std::span<const Rank> shard_ranks) const {
    if (option != &other) return false;
    const std::span<const Rank> own = ranks.view();
    if (own.empty()) return in_rank_order(shard_ranks);
    return std::equal(own.begin(), own.end(), shard_ranks.begin(), shard_ranks.end());
  }

 private:
  static bool in_rank_order(std::span<const Rank> shard_ranks) {
    for (std::size_t i = 0; i < shard_ranks.size(); ++i) {
      if (shard_ranks[i] != i) return false;
    }
    return true;
  }
};

// For every table, in proposal order, the option and the ranks of its shards. The plan keeps the
// owner of its options alive. A change returns a new plan, which copies the ranks of the changed
// assignments and the tree nodes that lead to them. The new plan shares all other storage with the
// old one: options, costs, tables, all other ranks. ranks_identity() and node_identity() show what
// two plans share. PlanEdit (below) changes several assignments at once.
// Thread safety: a value; plans that share storage may be used from different threads.
class Plan {
 public:
  Plan() = default;

  // Makes a plan without stored ranks. `owner` keeps the options alive.
  static Plan make(std::shared_ptr<const void> owner,
                   std::span<const ShardingOption* const> options) {
    return generate(std::move(owner), options.size(), [&](std::size_t i) {
      return Assignment{options[i], {}};
    });
  }

  // `ranks` holds one rank per shard, option after option, including uniform options.
  static Plan make(std::shared_ptr<const void> owner,
                   std::span<const ShardingOption* const> options, std::span<const Rank> ranks) {
    std::size_t begin = 0;
    Plan plan = generate(std::move(owner), options.size(), [&](std::size_t i) {
      SHARDWRIGHT_CHECK(options[i]->num_shards() <= ranks.size() - begin);
      const auto own = ranks.subspan(begin, options[i]->num_shards());
      begin += own.size();
      return Assignment::make(*options[i], own);
    });
    SHARDWRIGHT_CHECK(begin == ranks.size());
    return plan;
  }

  // Calls assignment(0), assignment(1), ... assignment(size - 1) in this order.
  template <class Assign>
  static Plan generate(std::shared_ptr<const void> owner, std::size_t size,
                       const Assign& assignment) {
    Plan plan;
    plan.owner_ = std::move(owner);
    plan.assignments_ = PersistentVector<Assignment>::generate(size, assignment);
    return plan;
  }

  std::size_t size() const { return assignments_.size(); }
  bool empty() const { return assignments_.empty(); }
  const Assignment& operator[](std::size_t i) const { return assignments_[i]; }

  // Returns the plan with the shards of option i on `ranks`, one rank per shard. Copies `ranks` to
  // a block of 8 bytes + 4 per rank (none for a uniform option in rank order), and max(1, ceil(log8
  // size)) tree nodes; shares the rest. On bad_alloc this plan is unchanged.
  Plan with_ranks(std::size_t i, std::span<const Rank> ranks) const {
    return with(i, Assignment::make(*assignments_[i].option, ranks));
  }

  // Returns the plan in which assignment i has another option of the same table. Precondition: the
  // plan's owner keeps the option alive.
  Plan with_option(std::size_t i, const ShardingOption& option, std::span<const Rank> ranks) const {
    SHARDWRIGHT_CHECK(option.table == assignments_[i].option->table);
    return with(i, Assignment::make(option, ranks));
  }

  // Returns the same plan with `owner` as the object that it keeps alive. Precondition: `owner`
  // keeps every option of the plan alive. O(1), does not allocate.
  Plan with_owner(std::shared_ptr<const void> owner) const {
    Plan changed = *this;
    changed.owner_ = std::move(owner);
    return changed;
  }

  // The identities of the ranks of option i, and of the tree node that holds assignment i.
  Identity ranks_identity(std::size_t i) const { return assignments_[i].ranks.identity(); }
  Identity node_identity(std::size_t i) const { return assignments_.identity(i); }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  friend class PlanEdit;

  Plan with(std::size_t i, Assignment assignment) const {
    Plan changed;
    changed.owner_ = owner_;
    changed.assignments_ = assignments_.set(i, std::move(assignment));
    return changed;
  }

  std::shared_ptr<const void> owner_;
  PersistentVector<Assignment> assignments_;
};

// Counts what published plans copied and what they shared with the plan from which they were
// edited. The first plan of a search shares nothing and counts as copied. The counts depend only on
// the problem, the seed and the work budget.
struct PlanCopies {
  std::uint64_t plans = 0;
  std::uint64_t assignments_shared = 0;
  std::uint64_t assignments_copied = 0;
  std::uint64_t rank_bytes_copied = 0;
  std::uint64_t nodes_copied = 0;   // tree nodes of 8 assignments or pointers
  std::uint64_t options_added = 0;  // options not in the search space, such as scaled caches

  PlanCopies& operator+=(const PlanCopies& other) {
    plans += other.plans;
    assignments_shared += other.assignments_shared;
    assignments_copied += other.assignments_copied;
    rank_bytes_copied += other.rank_bytes_copied;
    nodes_copied += other.nodes_copied;
    options_added += other.options_added;
    return *this;
  }
  friend bool operator==(const PlanCopies&, const PlanCopies&) = default;
};

// Collects changed assignments of one plan and applies them together, so that a tree node with
// several changes is copied once. The base plan is not changed.
// Thread safety: one thread at a time; the plans may be used from any thread.
class PlanEdit {
 public:
  explicit PlanEdit(const Plan& base) : base_(base) {}

  const Plan& base() const { return base_; }
  bool empty() const { return changes_.empty(); }

  // Replaces assignment i. The new assignment shares its ranks with `assignment`. Preconditions:
  // called at most once for each i; the base plan's owner keeps the option alive.
  void set(std::size_t i, Assignment assignment) {
    SHARDWRIGHT_DCHECK(i < base_.size());
    changes_.push_back({i, std::move(assignment)});
  }
  // Replaces assignment i, unless it has this option and these ranks already. Copies `ranks`, which
  // has one rank per shard or is empty if shard i is on rank i.
  void set_if_different(std::size_t i, const ShardingOption& option, std::span<const Rank> ranks) {
    if (base_[i].is(option, ranks)) return;
    set(i, Assignment::make(option, ranks));
    rank_bytes_ += changes_.back().value.ranks.view().size_bytes();
  }

  // Returns the base plan with all changes, and clears the edit. Adds what was copied to `copies`.
  // Cost: one allocation per tree node that leads to a change; O(changes log changes) time if set()
  // was not called in order.
  Plan publish(PlanCopies& copies) {
    const auto by_index = [](const Change& a, const Change& b) { return a.index < b.index; };
    if (!std::is_sorted(changes_.begin(), changes_.end(), by_index))
      std::sort(changes_.begin(), changes_.end(), by_index);
    count(copies);
    Plan changed = base_;
    changed.assignments_ =
        base_.assignments_.set_all(std::span<Change>(changes_.data(), changes_.size()));
    changes_.clear();
    rank_bytes_ = 0;
    return changed;
  }

  // Adds a plan that is published without a base to `copies`.
  static void count_whole(const Plan& plan, PlanCopies& copies) {
    ++copies.plans;
    copies.assignments_copied += plan.size();
    copies.nodes_copied += plan.assignments_.num_nodes();
    for (std::size_t i = 0; i < plan.size(); ++i)
      copies.rank_bytes_copied += plan[i].ranks.view().size_bytes();
  }

 private:
  using Change = PersistentVector<Assignment>::Change;

  void count(PlanCopies& copies) const {
    ++copies.plans;
    copies.assignments_shared += base_.size() - changes_.size();
    copies.assignments_copied += changes_.size();
    copies.nodes_copied +=
        base_.assignments_.nodes_copied(std::span<const Change>(changes_.data(), changes_.size()));
    copies.rank_bytes_copied += rank_bytes_;
  }

  Plan base_;
  boost::container::small_vector<Change, 16> changes_;  // few between two kept candidates
  std::uint64_t rank_bytes_ = 0;                        // copied by set_if_different()
};

}  // namespace shardwright::embedding
