// A lower bound from what single ranks can hold: is there a fractional mix of patterns for all
// ranks?
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/rank_filler.h"

namespace shardwright::embedding {

struct PatternAnswer {
  enum class Kind : std::uint8_t {
    kExcluded,  // no plan rates below the target; `leaf` shows it
    kPossible,  // a fractional plan does; `shares` says how much of every choice it takes
    kUnknown,   // the budget ended first, or the numbers were lost
  };
  Kind kind = Kind::kUnknown;
  BoundNode leaf;
  std::vector<double> shares;  // by choice
};

// The Dantzig-Wolfe relaxation, a pattern being a set of shards that fits one rank below the target
// load, and its column generation: CLP prices the shards, RankFiller finds the patterns. Patterns
// found for one target or one set of choices serve the next.
// Thread safety: one thread at a time.
class PatternBound {
 public:
  explicit PatternBound(const BoundRows& rows);

  // `allowed` by choice; at least one per table.
  PatternAnswer decide(double target, const std::vector<bool>& allowed, Budget& budget);

 private:
  class Master;

  bool usable(const RankPattern& pattern, double target, const std::vector<bool>& allowed) const;

  const BoundRows* rows_;
  std::vector<RankFiller> fillers_;  // by class
  std::vector<RankPattern> pool_;
};

}  // namespace shardwright::embedding
