// The ranks on which a subproblem may place shards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/plan.h"

namespace shardwright::embedding {

// Thread safety: one thread at a time.
class RankWindow {
 public:
  // Ranks within reach of a shard, as indices into ranks().
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  RankWindow(std::uint32_t world_size, std::uint32_t local_world_size)
      : local_(local_world_size), position_(world_size) {}

  // Precondition: ascending.
  void assign(std::span<const Rank> ranks) {
    ranks_.assign(ranks.begin(), ranks.end());
    std::fill(position_.begin(), position_.end(), kOutside);
    for (std::uint32_t i = 0; i < ranks_.size(); ++i)
      position_[ranks_[i]] = i;
    hosts_.clear();
    for (const Rank rank : ranks_) {
      if (hosts_.empty() || hosts_.back() != rank / local_) hosts_.push_back(rank / local_);
    }
  }

  std::span<const Rank> ranks() const { return ranks_; }
  bool contains(Rank rank) const { return position_[rank] != kOutside; }
  bool holds_all_ranks() const { return ranks_.size() == position_.size(); }
  // Precondition: contains(rank).
  std::uint32_t index_of(Rank rank) const { return position_[rank]; }
  // Hosts with ranks in the window, ascending.
  std::span<const std::uint32_t> hosts() const { return hosts_; }

  Part all() const { return {0, ranks_.size()}; }
  Part on_host(std::uint32_t host) const {
    const auto begin = std::lower_bound(ranks_.begin(), ranks_.end(), host * local_);
    const auto end = std::lower_bound(begin, ranks_.end(), (host + 1) * local_);
    return {static_cast<std::size_t>(begin - ranks_.begin()),
            static_cast<std::size_t>(end - ranks_.begin())};
  }

 private:
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  std::uint32_t local_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> position_;  // in ranks_, by rank
  std::vector<std::uint32_t> hosts_;
};

}  // namespace shardwright::embedding
