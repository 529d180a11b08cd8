// The search of best mode: lanes that improve plans and a proof that bounds them, side by side.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/improvement.h"
#include "search/budget.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/best/exact/neighbourhood_lane.h"
#include "search/embedding/best/local/annealing_lane.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Rounds of fixed work for every lane, and for the proof; lanes learn from
// each other between rounds only, in the order of their numbers, so that a work limit gives the
// same answer for any number of threads. Ends when the best plan is proved optimal, or the budget
// does. Thread safety: the members that explore() calls; see search/explore.h. Refers to the model.
class BestSearch {
 public:
  // Without `prove`, no bound is looked for.
  BestSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
             const BestParameters& parameters = {});

  // A plan to begin with, and to stay close to where ratings tie.
  void offer(const Allocation& start);

  std::size_t propose(const Budget& budget);
  std::size_t grain() const { return 1; }
  void evaluate(unsigned worker, std::size_t begin, std::size_t end, const Budget& budget);
  bool synchronize(Budget& budget);

  const std::optional<RatedAllocation>& best() const { return best_; }
  // What the model chooses from makes no plan at all: a table fits nowhere, or all was tried.
  bool none_exists() const { return hopeless_ || (solved_ && !best_); }
  // No plan rates below it.
  double bound() const { return prover_ ? prover_->bound() : 0; }
  const BoundCertificate* certificate() const {
    return prover_ ? &prover_->certificate() : nullptr;
  }
  const std::vector<ImprovementStep>& steps() const { return steps_; }

 private:
  bool is_proved() const;
  bool is_done() const;
  void take_over(const std::optional<RatedAllocation>& found, bool& better);
  std::uint64_t proof_share(std::uint64_t work) const;

  LaneParameters parameters_;
  SearchContext context_;
  bool hopeless_;  // a table fits nowhere
  std::unique_ptr<BoundProver> prover_;
  std::deque<AnnealingLane> annealing_;  // lanes refer to themselves and do not move
  NeighbourhoodLane neighbourhoods_;
  std::uint64_t round_work_;
  bool solved_ = false;     // no plan is better than the best one, or there is none at all
  double round_bound_ = 0;  // what lanes see while the proof goes on
  std::uint64_t round_proof_share_ = 0;
  std::vector<std::uint64_t> lane_work_;  // of the round
  std::optional<RatedAllocation> best_;
  std::vector<ImprovementStep> steps_;
};

}  // namespace shardwright::embedding
