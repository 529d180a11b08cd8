// All plans below a target, tried at the root of the proof.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/node_relaxation.h"
#include "search/embedding/bound/proof.h"

namespace shardwright::embedding {

// Proves a target by domain reduction and core's exhaustive search of the remaining plans. The
// search is short where few plans are nearly as good as the best one, which no relaxation shows. A
// lower target takes fewer steps. The order of targets: first the goal, which would prove the
// rating optimal, then bisection between the bound and the goal until a target fails, then the same
// with several times the steps. With the largest number of steps there is only bisection below the
// lowest target that failed. If the bound is near the goal, only the goal is tried. A plan that a
// search finds lowers the target of the search.
// A tiny problem is searched before any other method runs, for targets up to the rating itself,
// because all its plans are soon tried. A search pauses after some steps, so that its lane does not
// hold up the other lanes. With placement rules the domain is not reduced: the search obeys the
// rules, and the certificate is by search.
// Thread safety: one thread at a time. Refers to its argument.
class RootSearch final : public BoundMethod {
 public:
  explicit RootSearch(const BoundParameters& parameters)
      : parameters_(parameters), steps_(parameters.search.first_root_steps) {}

  bool goes_on() const override { return search_.has_value(); }
  bool is_due(const Proof& proof) const override {
    return has_more(proof) &&
           (is_tiny(proof) || share_.allows(parameters_.search.step_work * steps_));
  }
  bool has_more(const Proof& proof) const override;
  void step(Proof& proof, Budget& budget) override;
  void note_others(std::uint64_t work) override { share_.others += work; }

 private:
  // A target, with the bound and the goal when it was chosen.
  struct Try {
    double target = 0;
    double bound = 0;
    double goal = 0;
  };

  void begin(Proof& proof, Budget& budget);
  void take(Proof& proof, SearchedNode node) const;
  // Returns true for few tables and ranks, before the first failure.
  bool is_tiny(const Proof& proof) const;
  double closeness(const Proof& proof) const;
  bool has_most_steps() const { return steps_ >= parameters_.search.proof_steps; }
  double ceiling(double bound, double goal) const;
  bool are_near(double bound, double ceiling, double goal) const;
  double next_target(double bound, double goal) const;
  void fail();

  const BoundParameters& parameters_;
  WorkShare share_;
  std::uint64_t steps_;               // limit for a target
  Try try_;                           // the last attempt
  MultiplierList fixing_;             // that reduced its domain
  std::optional<NodeSearch> search_;  // while it runs
  // The lowest goal and the lowest target that failed with these steps.
  double goal_failed_ = std::numeric_limits<double>::infinity();
  double failed_ = std::numeric_limits<double>::infinity();
};

}  // namespace shardwright::embedding
