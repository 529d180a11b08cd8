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

// The domain is reduced first; then core's search tries what is left. It ends soon where few plans
// are nearly as good, which no relaxation sees, and a tree would repeat it in each of its nodes.
// The lower the target, the fewer steps it takes. The goal, which would prove the rating optimal,
// comes first, and then bisection between the bound and the goal until a target fails; then
// everything again with several times the steps. With the most steps there is only bisection, below
// the lowest target that failed. Where the bound is near the goal, only the goal is tried. A plan
// that is found on the way lowers the target of its search.
// Tiny problems are tried here before anything else, and up to the rating itself: where all plans
// are soon tried, nothing is left open.
// A search pauses after some steps, so that its lane does not hold up the others. With placement
// rules nothing is reduced: the search obeys them, and a certificate by search says so.
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
  // Few tables and ranks, and not given up yet.
  bool is_tiny(const Proof& proof) const;
  double closeness(const Proof& proof) const;
  bool has_most_steps() const { return steps_ >= parameters_.search.proof_steps; }
  double ceiling(double bound, double goal) const;
  bool are_near(double bound, double ceiling, double goal) const;
  double next_target(double bound, double goal) const;
  void fail();

  const BoundParameters& parameters_;
  WorkShare share_;
  std::uint64_t steps_;               // for a target
  Try try_;                           // the last one
  MultiplierList fixing_;             // of its domain
  std::optional<NodeSearch> search_;  // while it runs
  // The lowest goal that was tried in vain, and the lowest target, with these steps.
  double goal_failed_ = std::numeric_limits<double>::infinity();
  double failed_ = std::numeric_limits<double>::infinity();
};

}  // namespace shardwright::embedding
