// Column generation for tables that are nearly equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/column_generation.h"
#include "search/embedding/bound/domain_reduction.h"
#include "search/embedding/bound/proof.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/suggested_start.h"

namespace shardwright::embedding {

// A relaxation of the rows' model: only the choices of the domain are left, and of tables that
// differ little every shard takes what the smallest of its counterparts does. So does every shard
// of a choice on all ranks, or on whole hosts. What bounds this model bounds the other one, and
// dual values of its shards are dual values there.
//
// At the multipliers, no choice becomes cheaper by more than the part `step` of its cost, or by the
// part `dear_step` of its reduced cost: plans below the target have few choices with a large one.
// Beyond that, shards lose what is below the part `step` of a table's mean share, and the part
// `dear_step` of what has no price.
// Precondition: every table has a choice in the domain.
// O(choices x log tables).
ChoiceModel coarse_model(const BoundRows& rows, const Domain& domain, double target,
                         const std::vector<CapacityMultipliers>& multipliers, double step,
                         double dear_step);

// Deals the places of single shards that are equal in the coarse model out again: those that take
// most of the model itself go where shards take least beyond the coarse model. `start` is in terms
// of the coarse model. O(shards x log shards).
void even_places(const ChoiceModel& coarse, const ChoiceModel& model, Allocation& start);

// Where hundreds of tables all differ a little, the master program has rows for each of them, and
// ends no question. Here shards that differ by much less than the gap count as equal, at what the
// smallest of them takes (coarse_model). Equal shards share a row of the program, and uniform
// choices are columns of it, at a price of whole ranks; so the patterns are those of a few kinds of
// shards. The dual values found hold for the tables themselves. The goal comes first, then
// bisection below it; once the gap is half of what it was, shards are told apart more finely.
// Thread safety: one thread at a time. Refers to the rows.
class CoarseProof {
 public:
  // Precondition: the bound is below the goal.
  CoarseProof(const BoundRows& rows, double bound, double goal, const BoundParameters& parameters);

  // Nothing is left to try, or too many tables differ.
  bool has_ended() const { return ended_; }
  // Does nothing if it has ended.
  void step(Budget& budget);

  struct Proof {
    double target = 0;
    BoundNode leaf;  // of a certificate with the rows' classes
  };
  // What was proved since the last call.
  std::optional<Proof> take_proof() { return std::exchange(proof_, std::nullopt); }
  // What a fractional plan has most of that was found instead; in terms of the rows' model.
  std::optional<SuggestedStart> take_suggestion() {
    return std::exchange(suggestion_, std::nullopt);
  }

 private:
  void reduce(Budget& budget);
  void coarsen(Budget& budget);
  void ask();
  void take(RelaxationAnswer answer, Budget& budget);
  void prove(BoundNode leaf);
  double next_target() const;
  void fail();
  BoundNode joined(BoundNode leaf) const;

  const BoundRows& rows_;
  BoundParameters parameters_;
  double bound_;
  double goal_;
  double ceiling_;              // the lowest target that failed, or the goal
  double target_;               // next, or being proved
  std::uint32_t failures_ = 0;  // of the model's targets
  double coarse_gap_ = 0;       // when the model was made, as a part of the goal
  Domain domain_;               // of the rows, below the goal
  MultiplierList fixing_;       // how it was reduced
  std::vector<CapacityMultipliers> multipliers_;
  std::unique_ptr<const ChoiceModel> model_;
  std::unique_ptr<BoundRows> coarse_rows_;
  std::unique_ptr<ColumnGeneration> columns_;  // null before there is a model
  PricingKnowledge known_;                     // dual values of the model before
  Domain question_;                            // of the coarse rows, for the target
  std::optional<Proof> proof_;
  std::optional<SuggestedStart> suggestion_;
  bool ended_ = false;
};

// One proof for a rating, and another one when the rating has fallen.
// Thread safety: one thread at a time.
class CoarseMethod final : public BoundMethod {
 public:
  bool goes_on() const override { return proof_.has_value(); }
  bool is_due(const Proof& proof) const override;
  void step(Proof& proof, Budget& budget) override;

 private:
  double rating_ = std::numeric_limits<double>::infinity();  // of the last proof
  std::optional<CoarseProof> proof_;
};

}  // namespace shardwright::embedding
