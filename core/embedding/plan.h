// A plan: an immutable sharding option for every table and the ranks of its shards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "core/cow.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// One table's part of a plan. `ranks` is empty if shard i is on rank i, as a uniform option has it.
struct Assignment {
  const ShardingOption* option = nullptr;
  SharedArray<Rank> ranks;

  // `shard_ranks` has one rank per shard, or none for rank order. A uniform option stores no ranks
  // that are in rank order.
  static Assignment make(const ShardingOption& option, std::span<const Rank> shard_ranks) {
    SHARDWRIGHT_CHECK(shard_ranks.empty() || shard_ranks.size() == option.num_shards());
    if (option.partition_by() == PartitionBy::kUniform && in_rank_order(shard_ranks))
      return {&option, {}};
    return {&option, SharedArray<Rank>(shard_ranks)};
  }

  Rank rank(std::uint32_t shard) const { return ranks.size() == 0 ? shard : ranks[shard]; }

  // Returns true if make(other, shard_ranks) would store the same. Does not allocate.
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

// The option of every table, in proposal order, and the ranks of its shards. The plan keeps the
// owner of its options alive. A change returns a new plan: it copies the ranks of the assignments
// that changed and the tree nodes that lead to them. Everything else stays shared: options, costs,
// tables, all other ranks. ranks_identity() and node_identity() show what two plans share.
// PlanEdit (plan_edit.h) changes several assignments at once.
// Thread safety: a value; plans that share storage may be used from different threads.
class Plan {
 public:
  Plan() = default;

  // A plan without stored ranks. `owner` keeps the options alive.
  static Plan make(std::shared_ptr<const void> owner,
                   std::span<const ShardingOption* const> options) {
    return generate(std::move(owner), options.size(), [&](std::size_t i) {
      return Assignment{options[i], {}};
    });
  }

  // `ranks` holds the rank of every shard, option after option, those of uniform options included.
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

  // The plan with the shards of option i on `ranks`, one rank per shard.
  // Cost: 4 bytes per rank plus O(log size) nodes. On bad_alloc this plan is unchanged.
  Plan with_ranks(std::size_t i, std::span<const Rank> ranks) const {
    return with(i, Assignment::make(*assignments_[i].option, ranks));
  }

  // The plan with another option of the same table at i. Precondition: the plan's owner keeps the
  // option alive.
  Plan with_option(std::size_t i, const ShardingOption& option, std::span<const Rank> ranks) const {
    SHARDWRIGHT_CHECK(option.table == assignments_[i].option->table);
    return with(i, Assignment::make(option, ranks));
  }

  // The same plan, which now keeps `owner` alive instead. Precondition: that keeps every option of
  // the plan alive. O(1), does not allocate.
  Plan with_owner(std::shared_ptr<const void> owner) const {
    Plan changed = *this;
    changed.owner_ = std::move(owner);
    return changed;
  }

  // The storage of the ranks of option i, and of the tree node that holds its assignment.
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

}  // namespace shardwright::embedding
