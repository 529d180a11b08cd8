// The exhaustive search of all plans below a target, at the root of the proof.
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
// search is short if few plans rate nearly as low as the best plan, and a lower target takes fewer
// steps. The order of targets: first the goal, which proves the best known plan optimal; then
// bisection between the bound and the goal until a target fails; then the same with several times
// the steps. At the largest number of steps only bisection remains, below the lowest target that
// failed. If the bound is near the goal, only the goal is tried. If a search finds a plan, it
// continues with a target below the plan's rating.
// A tiny problem is searched before any other method runs, because its search is short; its first
// target is almost the rating itself. A search pauses after some steps, so that other lanes do not
// wait long for its lane. With placement rules, the search does not use the reduced domain; it
// obeys the rules, and BoundCertificate::by_search is set.
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
  // Returns true if tables x ranks is small and no target has failed yet.
  bool is_tiny(const Proof& proof) const;
  double closeness(const Proof& proof) const;
  bool has_most_steps() const { return steps_ >= parameters_.search.proof_steps; }
  double ceiling(double bound, double goal) const;
  bool are_near(double bound, double ceiling, double goal) const;
  double next_target(double bound, double goal) const;
  void fail();

  const BoundParameters& parameters_;
  WorkShare share_;
  std::uint64_t steps_;               // limit of steps for a target
  Try try_;                           // the last attempt
  MultiplierList fixing_;             // multipliers that reduced the domain of try_
  std::optional<NodeSearch> search_;  // empty if no search is running
  // The lowest goal and the lowest target that failed with steps_; infinite if none failed.
  double goal_failed_ = std::numeric_limits<double>::infinity();
  double failed_ = std::numeric_limits<double>::infinity();
};

}  // namespace shardwright::embedding
