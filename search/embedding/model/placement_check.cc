#include "search/embedding/model/placement_check.h"

#include "core/numeric/assignment.h"

namespace shardwright::embedding {

PlacementCheck::PlacementCheck(const PlacementRules& rules, const Topology& topology, TableId table,
                               const Choice& choice)
    : rules_(rules),
      world_(topology.world_size()),
      local_(topology.local_world_size()),
      hosts_(topology.num_hosts()),
      table_(table),
      choice_(choice),
      shards_(choice.num_shards),
      distinct_(rules.distinct_ranks(table)) {}

template <class Test>
bool PlacementCheck::every_set(const Test& test) const {
  const std::uint32_t distinct_sets = rules_.same_for_all_shards(table_) ? 1 : shards_;
  for (std::uint32_t shard = 0; shard < distinct_sets; ++shard) {
    const RankSet* const set = rules_.allowed(table_, shard);
    if (set != nullptr && !test(shard, *set)) return false;
  }
  return true;
}

bool PlacementCheck::is_possible() const {
  switch (choice_.reach) {
    case Reach::kDevice:
      return !distinct_ || fits_on_distinct_ranks(0, world_);
    case Reach::kHost:
      for (std::uint32_t host = 0; host < hosts_; ++host) {
        if (is_possible_on_host(host)) return true;
      }
      return false;
    case Reach::kWholeHosts:
      return blocks_fit();
    case Reach::kAllRanks:
      break;
  }
  return fits_in_rank_order();
}

bool PlacementCheck::is_possible_on_host(std::uint32_t host) const {
  switch (choice_.reach) {
    case Reach::kDevice:
    case Reach::kHost:
      if (distinct_) return fits_on_distinct_ranks(host * local_, local_);
      return every_set([&](std::uint32_t, const RankSet& set) {
        return set.count_in(host * local_, local_) > 0;
      });
    case Reach::kWholeHosts:
      if (distinct_ && shards_ != local_) return false;
      for (std::uint32_t block = 0; block < shards_ / local_; ++block) {
        if (!block_fits(block, host)) return false;
      }
      return true;
    case Reach::kAllRanks:
      break;
  }
  return hosts_ == 1 && fits_in_rank_order();
}

bool PlacementCheck::is_possible_on_rank(Rank rank) const {
  if (distinct_ && shards_ > 1) return false;
  if (choice_.reach == Reach::kWholeHosts && local_ > 1) return false;
  if (choice_.reach == Reach::kAllRanks && world_ > 1) return false;
  return every_set([&](std::uint32_t, const RankSet& set) { return set.contains(rank); });
}

std::uint32_t PlacementCheck::min_ranks() const {
  if (choice_.reach == Reach::kAllRanks) return world_;
  if (distinct_) return shards_;
  return choice_.reach == Reach::kWholeHosts ? local_ : 1;
}

std::uint32_t PlacementCheck::min_hosts() const {
  if (choice_.reach == Reach::kAllRanks) return hosts_;
  return distinct_ ? (shards_ + local_ - 1) / local_ : 1;
}

bool PlacementCheck::is_allowed(std::uint32_t shard, Rank rank) const {
  const RankSet* const set = rules_.allowed(table_, shard);
  return set == nullptr || set->contains(rank);
}

bool PlacementCheck::fits_in_rank_order() const {
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    if (!is_allowed(shard, shard)) return false;
  }
  return true;
}

bool PlacementCheck::fits_on_distinct_ranks(Rank first, std::uint32_t count) const {
  if (rules_.same_for_all_shards(table_)) {
    const RankSet* const set = rules_.allowed(table_, 0);
    return shards_ <= (set == nullptr ? count : set->count_in(first, count));
  }
  return can_match(shards_, count, [&](std::uint32_t shard, std::uint32_t i) {
    return is_allowed(shard, first + i);
  });
}

bool PlacementCheck::block_fits(std::uint32_t block, std::uint32_t host) const {
  for (std::uint32_t i = 0; i < local_; ++i) {
    if (!is_allowed(block * local_ + i, host * local_ + i)) return false;
  }
  return true;
}

bool PlacementCheck::blocks_fit() const {
  const std::uint32_t blocks = shards_ / local_;
  const auto fits = [&](std::uint32_t block, std::uint32_t host) {
    return block_fits(block, host);
  };
  if (distinct_) return can_match(blocks, hosts_, fits);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    bool found = false;
    for (std::uint32_t host = 0; host < hosts_ && !found; ++host)
      found = fits(block, host);
    if (!found) return false;
  }
  return true;
}

}  // namespace shardwright::embedding
