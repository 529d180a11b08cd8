// The choices of a proof in which every rank counts by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// A ClassSet has a bit for each.
inline constexpr std::uint32_t kMostRanks = 31;

inline bool has_rank(ClassSet ranks, std::size_t rank) { return (ranks >> rank & 1) != 0; }

// `count` equal shards, or blocks of shards if the choice fills hosts.
struct RankShards {
  std::uint32_t count = 0;
  double load = 0;  // of one shard
  PerTier<double> bytes = {};
  ClassSet ranks = 0;  // an otherwise empty rank of these has room for it
};

struct RankChoice {
  std::uint32_t table = 0;
  Reach reach = Reach::kDevice;  // also of one that lies on one host anyway
  std::uint32_t num_parts = 0;   // shards, or blocks
  std::uint32_t first_shards = 0;
  std::uint32_t num_runs = 0;
  std::uint32_t num_extras = 0;
  RankShards least;  // the least load and memory of one shard
};

// Lowers `least` to these shards, in load and memory each. It is empty at first.
void keep_least(const RankShards& shards, RankShards& least);

struct RankOfModel {
  double time_scale = 1;
  PerTier<double> room = {};  // bytes, never negative
  ClassSet host = 0;          // the ranks of its host
};

// What a certificate with ranks apart counts (core/embedding/bound): a choice with a shard on every
// rank has its smallest one there, and so does one that fills hosts. What other shards take beyond
// the smallest one they take on any ranks: plans that exchange ranks count the same.
// Thread safety: immutable.
class RankModel {
 public:
  // Ranks are few enough, each is on a host, and choices that use them alike have a smallest shard.
  static bool is_possible(const ChoiceModel& model);

  // For plans below the target. Extras that take together no more of a rank than `least_extra`, a
  // part of its load and memory, are ignored. Keeps a reference to the model. Precondition:
  // is_possible().
  RankModel(const ChoiceModel& model, double target, double least_extra = 0);

  const ChoiceModel& model() const { return *model_; }
  double target() const { return target_; }
  std::uint32_t num_ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }
  const RankOfModel& rank(std::size_t rank) const { return ranks_[rank]; }
  std::span<const ClassSet> hosts() const { return hosts_; }
  std::span<const MemoryTier> tiers() const { return model_->tiers(); }
  ClassSet everywhere() const { return (ClassSet{1} << num_ranks()) - 1; }
  // The ranks of all hosts with any of these.
  ClassSet whole_hosts(ClassSet ranks) const;
  // What a rank may have of load in a plan below the target.
  double load_limit(std::size_t rank, double target) const {
    return target / ranks_[rank].time_scale;
  }

  std::size_t num_tables() const { return model_->num_tables(); }
  // Those of the choice model, in its order.
  std::span<const RankChoice> choices() const { return choices_; }
  std::uint32_t first_choice(std::size_t table) const { return model_->first_choice(table); }
  std::uint32_t end_choice(std::size_t table) const { return model_->first_choice(table + 1); }
  std::span<const RankShards> shards(const RankChoice& choice) const {
    return std::span(shards_).subspan(choice.first_shards, choice.num_runs);
  }
  // Of a choice that uses ranks alike: what larger shards take beyond the smallest one.
  std::span<const RankShards> extras(const RankChoice& choice) const {
    return std::span(shards_).subspan(choice.first_shards + choice.num_runs, choice.num_extras);
  }

 private:
  void add(const Choice& choice, std::uint32_t table);
  RankShards shards_of(const ChoiceRun& run) const;
  bool is_much(const RankShards& shards) const;
  void add_extras(std::span<const ChoiceRun> runs, const ChoiceRun& smallest, RankChoice& own);

  const ChoiceModel* model_;
  double target_;
  double least_extra_;
  std::vector<RankOfModel> ranks_;
  std::vector<ClassSet> hosts_;
  std::vector<RankChoice> choices_;
  std::vector<RankShards> shards_;
};

}  // namespace shardwright::embedding
