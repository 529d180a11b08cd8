// States of the tree of all plans below which no plan was found.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/embedding/bound/pricing/step_limit.h"
#include "core/embedding/bound/search/choices/table_set.h"
#include "core/embedding/bound/search/state/rank_contents.h"

namespace shardwright::embedding {

// Whether the remaining tables can be placed depends on what the ranks hold, on which groups of
// tables are where and on the charges so far, but not on how that came about, and not on which of
// several interchangeable ranks or hosts is which. States are kept as a whole, since a hash of them
// could be forged. Thread safety: one thread at a time. Refers to its arguments.
class TriedStates {
 public:
  // Loads that differ by less than a tiny part of `target` are the same: plans through the two
  // states rate the same but for one such part per table, which is far less than kRatingSlack.
  TriedStates(const RankContents& ranks, double target, StepLimit& limit);

  using State = std::string;
  // Returns an empty state, which is never kept, if there are many ranks.
  State state(const TableSet& remaining, const Outlook& outlook);
  bool contains(const State& state) const { return states_.count(state) > 0; }
  // Does nothing once much memory is used.
  void insert(State state);

 private:
  // What a rank is, to the remaining tables, and what it holds.
  struct RankKey {
    Rank kind = 0;  // the first rank that is alike
    double load = 0;
    PerTier<double> bytes = {};
    std::uint64_t groups = 0;  // that have a table here, as bits

    friend auto operator<=>(const RankKey&, const RankKey&) = default;
  };

  RankKey key_of(Rank rank, const Outlook& outlook) const;
  void sort_keys(const Outlook& outlook);

  const RankContents& ranks_;
  StepLimit& limit_;
  double unit_;  // of load
  std::vector<RankKey> keys_;
  std::size_t bytes_ = 0;
  std::unordered_set<State> states_;
};

}  // namespace shardwright::embedding
