// A plan: shared immutable options plus the ranks of their shards.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/cow.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// One table's part of a plan. `ranks` is empty for a uniform option, whose shard i is on rank i.
struct Assignment {
  const ShardingOption* option = nullptr;
  SharedArray<Rank> ranks;

  Rank rank(std::uint32_t shard) const { return ranks.size() == 0 ? shard : ranks[shard]; }
};

// Which option every table uses, in proposal order, and where its shards are. Options belong to a
// search space that the plan keeps alive. Changing one assignment copies that assignment's ranks
// and O(log tables) tree nodes; tables, options, costs and all other ranks stay shared, which
// identity() shows.
// Thread safety: a value; plans that share storage may be used from different threads.
class Plan {
 public:
  Plan() = default;

  // `owner` keeps the options alive; one option per table.
  static Plan make(std::shared_ptr<const void> owner,
                   std::span<const ShardingOption* const> options) {
    return generate(std::move(owner), options.size(), [&](std::size_t i) {
      return Assignment{options[i], {}};
    });
  }

  // The same, with the ranks of every shard, option after option; uniform options have entries too,
  // which are not stored.
  static Plan make(std::shared_ptr<const void> owner,
                   std::span<const ShardingOption* const> options, std::span<const Rank> ranks) {
    std::size_t begin = 0;
    Plan plan = generate(std::move(owner), options.size(), [&](std::size_t i) {
      SHARDWRIGHT_CHECK(options[i]->num_shards() <= ranks.size() - begin);
      const auto own = ranks.subspan(begin, options[i]->num_shards());
      begin += own.size();
      return Assignment{options[i], stored(*options[i], own)};
    });
    SHARDWRIGHT_CHECK(begin == ranks.size());
    return plan;
  }

  // The same from assignment(0), assignment(1), ... assignment(size - 1), called in this order.
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

  // The plan with the shards of option i on `ranks`. Precondition: one rank per shard.
  // Cost: 4 bytes per rank plus O(log size) nodes. On bad_alloc this plan is unchanged.
  Plan with_ranks(std::size_t i, std::span<const Rank> ranks) const {
    SHARDWRIGHT_CHECK(ranks.size() == assignments_[i].option->num_shards());
    return with(i, Assignment{assignments_[i].option, stored(*assignments_[i].option, ranks)});
  }

  // The plan with another option at i. Precondition: an option of the same table, owned by the
  // search space that this plan keeps alive.
  Plan with_option(std::size_t i, const ShardingOption& option, std::span<const Rank> ranks) const {
    SHARDWRIGHT_CHECK(option.table == assignments_[i].option->table);
    SHARDWRIGHT_CHECK(ranks.size() == option.num_shards());
    return with(i, Assignment{&option, stored(option, ranks)});
  }

  // Storage of the ranks of option i, and of the tree node that holds it.
  Identity ranks_identity(std::size_t i) const { return assignments_[i].ranks.identity(); }
  Identity node_identity(std::size_t i) const { return assignments_.identity(i); }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  static SharedArray<Rank> stored(const ShardingOption& option, std::span<const Rank> ranks) {
    if (option.partition_by() == PartitionBy::kUniform && in_rank_order(ranks)) return {};
    return SharedArray<Rank>(ranks);
  }
  static bool in_rank_order(std::span<const Rank> ranks) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != i) return false;
    }
    return true;
  }

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
