// How many placement rules the shards placed so far break.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Shards are added and removed one by one. Broken are: for every shard, a rank that it may not be
// on; for every table on distinct ranks, each further shard on a rank; for tables kept together,
// each further rank or host that they are on; for tables kept apart, each further one on a rank or
// host. Tables on all ranks are never added: what they may break alone is no choice.
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
  // Whether no other shard matters to where the table's may be.
  bool alone(std::uint32_t table) const {
    return !watched_[table].distinct && watched_[table].members.empty();
  }
  // Rules that the shard would break on the rank. O(groups of the table).
  std::uint32_t cost(std::uint32_t table, std::uint32_t shard, Rank rank) const;
  // Adds (sign 1) or removes a shard; returns by how many more rules are broken now. `mark` numbers
  // the change, ascending.
  int change(int sign, std::uint32_t table, std::uint32_t shard, Rank rank, std::size_t mark);
  // Takes back the changes with marks from `first` on.
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
