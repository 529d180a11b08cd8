// Which ranks are alike as long as they hold the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/bound/search/choices/table_choices.h"
#include "core/embedding/bound/search/choices/table_set.h"

namespace shardwright::embedding {

// A rank's memory, and the factor by which the rating multiplies its load.
struct RankTraits {
  PerTier<double> bytes = {};
  double scale = 1;

  friend bool operator==(const RankTraits&, const RankTraits&) = default;
};

// Ranks are of one kind if they have the same traits and if every choice of every table puts the
// same on both, whichever is which.
// Thread safety: immutable.
class RankKinds {
 public:
  RankKinds(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
            const std::vector<ChoicesOfTable>& tables);

  // Returns true if the ranks have the same traits and `remaining` does not tell them apart. May
  // miss that if there are over 256 kinds.
  bool are_alike(Rank a, Rank b, const TableSet& remaining) const {
    const std::size_t one = kind_[a];
    const std::size_t other = kind_[b];
    if (one == other) return true;
    return !told_apart_by_.empty() &&
           !told_apart_by_[one * num_kinds_ + other].intersects(remaining);
  }

 private:
  void tell_apart(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
                  const std::vector<ChoicesOfTable>& tables);

  std::vector<std::uint32_t> kind_;  // by rank
  std::size_t num_kinds_ = 0;
  std::vector<TableSet> told_apart_by_;  // by two kinds; empty if there are one or too many
};

}  // namespace shardwright::embedding
