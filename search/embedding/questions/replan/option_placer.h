// Places the shards of one option on ranks that may hold other tables already.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/replan/rank_tally.h"

namespace shardwright {

// How bad a state is: bytes that do not fit, what the slowest of some ranks counts, time in all.
using Badness = std::tuple<std::int64_t, double, double>;

// What a placement looks at beside the rules that name the table alone.
struct PlacementView {
  bool memory = true;                         // otherwise every rank has room for everything
  const embedding::RankSet* ranks = nullptr;  // the only ones to use; nullptr = all
};

// One shard after the other on the best rank or host: where it fits, then where the slowest rank
// stays fastest. That is the best placement of all where the shards cost the same, or where the
// sharding type leaves nothing to choose but one rank or host.
// Keeps references. Thread safety: one thread at a time.
class OptionPlacer {
 public:
  OptionPlacer(const embedding::Problem& problem, const embedding::Topology& available,
               const embedding::ShardingOption& option, RankTally& tally, PlacementView view = {});

  // Adds the shards to the tally and says where; empty, and the tally as it was, where a shard has
  // no rank. O(shards x ranks).
  std::vector<embedding::Rank> place();
  void take_back(const std::vector<embedding::Rank>& ranks);

  // Of the ranks that place() chose. Precondition: the tally holds the shards.
  Badness badness(const std::vector<embedding::Rank>& ranks) const;

 private:
  std::uint32_t world() const { return available_.world_size(); }
  std::uint32_t local() const { return available_.local_world_size(); }

  std::int64_t excess_bytes(embedding::Rank rank) const {
    return view_.memory ? tally_.excess_bytes(rank) : 0;
  }
  bool may_be(std::size_t shard, embedding::Rank rank) const;
  std::vector<embedding::Rank> take_in_order(embedding::Rank first);
  std::vector<embedding::Rank> take_greedily(embedding::Rank first, std::uint32_t count);
  std::vector<embedding::Rank> take_best_host();
  std::vector<embedding::Rank> take_whole_hosts();
  std::optional<Badness> try_host(embedding::Rank first, const std::vector<embedding::Rank>& taken);

  const embedding::Problem& problem_;
  const embedding::Topology& available_;
  const embedding::ShardingOption& option_;
  RankTally& tally_;
  PlacementView view_;
  std::vector<const embedding::ShardCost*> costs_;  // by shard
};

}  // namespace shardwright
