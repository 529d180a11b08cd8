// The search of best mode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/document/plan_document.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/best_parameters.h"
#include "search/embedding/best/incumbent.h"
#include "search/embedding/best/lanes.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Improves plans in lanes and proves a lower bound, in rounds. It is an exploration domain
// (search/explore.h). A round gives every lane and the proof a fixed amount of work. Lanes exchange
// plans only between rounds, in the order of their numbers, so the answer for a work limit does not
// depend on the number of threads.
//
// All lanes know one plan, the best so far. Each lane changes its own allocation in place. After a
// round, the best allocation becomes the new known plan, as an edit that copies only the tables
// that differ. A lane that continues from this plan also copies only the tables that differ.
//
// The search ends when the best plan is proved optimal, when the proof shows that no plan rates
// below the rating to beat, or when the budget is used up.
// Thread safety: see search/explore.h; all other members belong to one thread. Refers to the model.
class PortfolioSearch {
 public:
  // `prove`: false = no lower bound. `budget`: read only for interruption.
  PortfolioSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
                  const BestParameters& parameters = {}, const Budget& budget = {});

  // Starts the search from a plan, if the plan has the model's tables and options and is feasible.
  // If ratings tie, tables return to their places in the first such plan.
  void offer(const Plan& start);
  // Continues from a certificate that check_bound() has accepted. Call it before the search begins.
  void set_proved(const BoundCertificate& certificate) {
    bound_ = certificate.bound;
    if (proof_.prover() != nullptr) proof_.prover()->begin_from(certificate);
  }
  // Lets the search end once a bound of at least `rating` is proved.
  void set_to_beat(double rating) { to_beat_ = rating; }

  std::size_t batches_in_flight() const { return 1; }
  std::size_t propose(std::size_t slot, const Budget& budget);
  RangeSizes range_sizes() const { return {1, 1}; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget);
  bool synchronize(std::size_t slot, Budget& budget);

  const std::optional<RatedPlan>& best() const { return best_; }
  // Returns true if no feasible plan exists, because a table fits nowhere.
  bool none_exists() const { return hopeless_; }
  // A lower bound of the rating of every plan; 0 if there is none.
  double bound() const { return bound_; }
  // Null without a proof.
  const BoundCertificate* certificate() const {
    return proof_.prover() != nullptr ? &proof_.prover()->certificate() : nullptr;
  }
  const std::vector<ImprovementStep>& steps() const { return steps_; }
  // The work of the slowest lane of every round, summed: the time of all rounds with unlimited
  // threads.
  std::uint64_t span() const { return span_; }
  // The copies made for the plans that lanes exchange.
  const PlanCopies& copies() const { return copies_; }

 private:
  // The rating below which the proof must exclude plans. Precondition: there is a best plan.
  double aim() const { return std::min(best_->rating, to_beat_); }
  bool is_proved() const;
  bool goes_on() const;
  bool is_done() const;
  void count_work(Budget& budget);
  void take_in(std::uint64_t work);
  void publish(const RatedAllocation& found);
  std::optional<RatedAllocation> rated(Allocation allocation);
  std::optional<RatedAllocation> found_by_proof(const std::vector<SuggestedStart>& suggestions);
  double recent_fall(std::uint64_t work, std::uint64_t parts) const;
  std::uint64_t proof_share(std::uint64_t work) const;
  void shorten_round(const Budget& budget);

  BestParameters parameters_;
  SearchContext context_;
  bool hopeless_;  // a table has no choice whose shards fit on any rank
  bool proves_;
  ProofLanes proof_;
  double to_beat_ = std::numeric_limits<double>::infinity();
  SearchLanes lanes_;
  std::uint64_t round_work_;
  double bound_ = 0;
  double round_bound_ = 0;                // bound_ at the start of the round; lanes read this
  std::vector<std::uint64_t> lane_work_;  // in this round; the lanes of the proof come first
  std::uint64_t span_ = 0;
  std::optional<Plan> known_;  // known to all lanes: the best plan, or the start
  std::optional<RatedPlan> best_;
  std::uint64_t best_since_ = 0;   // work done when best_ was found
  bool is_improving_ = false;      // progress of LaneParameters::last_progress
  std::uint64_t bound_since_ = 0;  // work done when the bound last rose
  Suggestions suggestions_;
  std::vector<ImprovementStep> steps_;
  PlanCopies copies_;
};

}  // namespace shardwright::embedding
