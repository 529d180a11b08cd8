// How many placement rules are broken by the shards placed so far.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Shards are added and removed one by one. Each of these is one violation:
// - a shard on a rank that it may not be on;
// - every further shard on a rank, for a table whose shards must be on distinct ranks;
// - every further rank or host in use, for tables kept together;
// - every further table on a rank or host, for tables kept apart.
// Tables on all ranks are never added: the model has no choice that breaks a rule by itself.
// Thread safety: one thread at a time.
class RuleViolations {
 public:
  explicit RuleViolations(const ChoiceModel& model);

  std::uint64_t broken() const { return broken_; }
  // Ranks that the shard may be on; nullptr = every one.
  const RankSet* allowed(std::uint32_t table, std::uint32_t shard) const {
    const Watched& at = watched_[table];
    return at.by_shard ? model_->rules().allowed(model_->table(table), shard) : at.allowed;
  }
  // Returns true if the table's shards may be placed regardless of where other shards are.
  bool alone(std::uint32_t table) const {
    return !watched_[table].distinct && watched_[table].members.empty();
  }
  // Rules that the shard would break on the rank. O(groups of the table).
  std::uint32_t cost(std::uint32_t table, std::uint32_t shard, Rank rank) const;
  // Adds (sign 1) or removes (sign -1) a shard. Returns the change in the number of violations.
  // `mark` numbers the change; marks ascend.
  int change(int sign, std::uint32_t table, std::uint32_t shard, Rank rank, std::size_t mark);
  // Takes back every change whose mark is `first` or higher.
  void take_back(std::size_t first);
  void keep() { journal_.clear(); }
  void clear();

 private:
  struct Member {
    std::uint32_t group = 0;  // index into groups_
    std::size_t counts = 0;   // first of the table's shards by place
  };
  struct Watched {
    const RankSet* allowed = nullptr;
    bool by_shard = false;  // allowed differs by shard
    bool distinct = false;
    std::size_t counts = 0;  // first of the table's shards by rank, where distinct
    std::vector<Member> members;
  };
  struct Group {
    bool together = false;
    std::uint32_t ranks_per_place = 1;
    std::uint32_t used = 0;  // places with shards
    std::size_t counts = 0;  // first of the shards (together) or tables (apart) by place
  };
  struct Change {
    std::size_t mark;
    std::uint32_t table;
    std::uint32_t shard;
    Rank rank;
    int sign;
  };

  std::size_t add_counts(std::size_t count);
  int add(std::uint32_t table, std::uint32_t shard, Rank rank);
  int remove(std::uint32_t table, std::uint32_t shard, Rank rank);

  const ChoiceModel* model_;
  std::vector<Watched> watched_;  // by table; empty where there is no rule
  std::vector<Group> groups_;
  std::vector<std::uint32_t> counts_;
  std::vector<Change> journal_;
  std::uint64_t broken_ = 0;
};

}  // namespace shardwright::embedding
