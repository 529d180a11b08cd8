// A lower bound from what single ranks can hold: is there a fractional mix of patterns for all
// ranks?
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/bound_rows.h"
#include "search/embedding/best/bound/rank_filler.h"

namespace shardwright::embedding {

struct PatternAnswer {
  enum class Kind : std::uint8_t {
    kExcluded,  // no plan rates below the target; `leaf` shows it
    kPossible,  // a fractional plan does
    kUnknown,   // neither was shown; where the budget ended or the numbers were lost, no plan
  };
  Kind kind = Kind::kUnknown;
  BoundNode leaf;
  FractionalPlan plan;  // or what comes closest to one
};

// The Dantzig-Wolfe relaxation, a pattern being a set of shards that fits one rank below the target
// load, and its column generation: CLP prices the shards, RankFiller finds the patterns. Tables
// that are alike are one row of the program. Patterns found for one target or one set of choices
// serve the next. Thread safety: one thread at a time.
class PatternBound {
 public:
  explicit PatternBound(const BoundRows& rows);
  ~PatternBound();

  // Rows of shards that a program has at most where no two tables of a kind are told apart.
  std::size_t size() const;

  // Begins a question that may take `work` units. `zones`: where a choice may be; at least one
  // choice per table is somewhere.
  void ask(double target, const std::vector<Zone>& zones, std::uint64_t work);
  bool asked() const { return master_ != nullptr; }
  void drop();
  // One round of pricing; the answer, once there is one. Precondition: asked().
  std::optional<PatternAnswer> advance(Budget& budget);

 private:
  class Master;

  std::optional<RankPattern> usable(const RankPattern& pattern) const;
  RankPattern by_kind(const RankPattern& pattern) const;
  void add_single_shards(const AlikeTables& group);
  bool add_patterns(Budget& budget, PatternAnswer& answer);

  const BoundRows* rows_;
  TableKinds kinds_;
  std::vector<RankFiller> fillers_;  // by class
  std::vector<RankPattern> pool_;    // of rows of the first tables of their kinds
  double target_ = 0;
  std::uint64_t work_left_ = 0;
  std::vector<Zone> zones_;
  std::vector<AlikeTables> groups_;
  std::vector<std::vector<std::size_t>> groups_of_;  // by kind
  std::unique_ptr<Master> master_;
  std::vector<double> worth_;    // of one shard, by row; none but of the first tables of groups
  std::vector<RankFill> fills_;  // by class
};

}  // namespace shardwright::embedding
