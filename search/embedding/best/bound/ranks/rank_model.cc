#include "search/embedding/best/bound/ranks/rank_model.h"

#include <algorithm>
#include <optional>

namespace shardwright::embedding {
namespace {

// What lies on one host anyway may be on any ranks.
Reach reach_of(const ChoiceModel& model, const Choice& choice) {
  const bool is_free = model.is_one_host() || choice.num_shards == 1;
  return choice.reach == Reach::kHost && is_free ? Reach::kDevice : choice.reach;
}

RankShards least_shard(std::span<const ChoiceRun> runs) {
  RankShards least;
  for (const ChoiceRun& run : runs) {
    if (run.count > 0) keep_least({1, run.load, as_doubles(run.storage), 0}, least);
  }
  return least;
}

}  // namespace

void keep_least(const RankShards& shards, RankShards& least) {
  if (least.count == 0) {
    least = shards;
    return;
  }
  least.load = std::min(least.load, shards.load);
  for (const MemoryTier tier : kMemoryTiers)
    least.bytes[tier] = std::min(least.bytes[tier], shards.bytes[tier]);
}

bool RankModel::is_possible(const ChoiceModel& model) {
  return model.world_size() <= kMostRanks && model.num_hosts() > 0 && !model.has_uneven_hosts() &&
         std::all_of(model.choices().begin(), model.choices().end(), [&](const Choice& choice) {
           return !is_uniform(choice) || smallest_shard(model.runs(choice));
         });
}

RankModel::RankModel(const ChoiceModel& model, double target, double least_extra)
    : model_(&model), target_(target), least_extra_(least_extra) {
  const std::uint32_t local = model.local_world_size();
  hosts_.assign(model.num_hosts(), 0);
  for (std::uint32_t rank = 0; rank < model.world_size(); ++rank)
    hosts_[rank / local] |= ClassSet{1} << rank;
  for (std::uint32_t rank = 0; rank < model.world_size(); ++rank) {
    const Storage room = most_of(model.room()[rank], Storage());
    ranks_.push_back(
        {model.time_scale(static_cast<Rank>(rank)), as_doubles(room), hosts_[rank / local]});
  }
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    for (const Choice& choice : model.choices(table))
      add(choice, table);
  }
}

void RankModel::add(const Choice& choice, std::uint32_t table) {
  const std::span<const ChoiceRun> runs = model_->runs(choice);
  RankChoice own;
  own.table = table;
  own.reach = reach_of(*model_, choice);
  own.num_parts = choice.num_shards;
  own.first_shards = static_cast<std::uint32_t>(shards_.size());
  own.least = least_shard(runs);
  const std::optional<ChoiceRun> one = is_uniform(choice) ? smallest_shard(runs) : std::nullopt;
  if (one) {
    own.num_parts /=
        own.reach == Reach::kAllRanks ? model_->world_size() : model_->local_world_size();
    RankShards& shards = shards_.emplace_back(shards_of(*one));
    shards.count = own.num_parts;
  }
  for (const ChoiceRun& run : runs) {
    if (!one && run.count > 0) shards_.push_back(shards_of(run));
  }
  own.num_runs = static_cast<std::uint32_t>(shards_.size()) - own.first_shards;
  if (one) add_extras(runs, *one, own);
  choices_.push_back(own);
}

void RankModel::add_extras(std::span<const ChoiceRun> runs, const ChoiceRun& smallest,
                           RankChoice& own) {
  for (const ChoiceRun& run : runs) {
    if (run.count == 0 || (run.load == smallest.load && run.storage == smallest.storage)) continue;
    RankShards extra = shards_of(run);
    extra.load -= smallest.load;
    const PerTier<double> bytes = as_doubles(smallest.storage);
    for (const MemoryTier tier : kMemoryTiers)
      extra.bytes[tier] -= bytes[tier];
    if (!is_much(extra)) continue;
    shards_.push_back(extra);
    ++own.num_extras;
  }
}

// Returns true if the shards take more of what a rank has than may be ignored.
bool RankModel::is_much(const RankShards& shards) const {
  if (shards.count * shards.load > least_extra_ * target_) return true;
  return std::any_of(tiers().begin(), tiers().end(), [&](MemoryTier tier) {
    return shards.count * shards.bytes[tier] > least_extra_ * ranks_.front().room[tier];
  });
}

RankShards RankModel::shards_of(const ChoiceRun& run) const {
  RankShards shards{run.count, run.load, as_doubles(run.storage), 0};
  for (std::uint32_t rank = 0; rank < num_ranks(); ++rank) {
    // A rank that lacks memory may still have empty shards.
    const Storage room = most_of(model_->room()[rank], Storage());
    if (run.load < load_limit(rank, target_) && run.storage.fits_in(room))
      shards.ranks |= ClassSet{1} << rank;
  }
  return shards;
}

ClassSet RankModel::whole_hosts(ClassSet ranks) const {
  ClassSet all = 0;
  for (const ClassSet host : hosts_)
    all |= (host & ranks) != 0 ? host : 0;
  return all;
}

}  // namespace shardwright::embedding
