// The search of best mode: lanes that improve plans, and a proof that bounds them, in rounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/document/improvement.h"
#include "core/embedding/plan.h"
#include "core/embedding/plan_edit.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/best/incumbent/rated.h"
#include "search/embedding/best/merging_search.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/best/processes/round_report.h"
#include "search/embedding/best/proof_part.h"
#include "search/embedding/best/search_lanes.h"
#include "search/embedding/best/suggestions.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/suggested_start.h"
#include "search/search_group.h"

namespace shardwright::embedding {

// An exploration domain (search/explore.h). A round gives the proof and every lane a fixed amount
// of work. Lanes exchange plans between rounds only, in the order of their numbers, so a work limit
// gives the same answer for any number of threads.
//
// All lanes know one plan, the best so far. Each works on an allocation of its own, in place. After
// a round the best allocation is published as an edit of the known plan: only the tables that
// differ are copied. A lane that continues from the new plan copies the tables in which it differs.
//
// The search ends when the best plan is proved optimal, when it is proved that no plan rates below
// what is to be beaten, or when the budget is used up.
//
// The lanes may be dealt out to several processes, each with a BestSearch of the same model, seed
// and starts. Process 0 has the proof and its certificate; when the proof's tree is shared, its
// lanes are dealt out, too. All take in the same reports of a round, and then what process 0 says
// of the proof, so all have the same best plan and bound, and the number of processes changes
// nothing in them. Thread safety: as explore() calls the members; everything else on one thread.
// Refers to the model.
class BestSearch {
 public:
  // Without `prove` there is no lower bound. `budget` is only asked whether it was interrupted.
  // `group` is null if this process is alone.
  BestSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
             const BestParameters& parameters = {}, const Budget& budget = {},
             SearchGroup* group = nullptr);

  // Starts the search from a plan, if it has the model's tables and options and is feasible. If
  // ratings tie, tables return to where the first such plan has them.
  void offer(const Plan& start);
  // Goes on from a bound that is proved. In process 0 with its proof, which the check of core has
  // accepted. Call both before the search begins.
  void set_proved(double bound) { bound_ = bound; }
  void set_proved(const BoundCertificate& certificate) {
    set_proved(certificate.bound);
    if (proof_.prover() != nullptr) proof_.prover()->begin_from(certificate);
  }
  // In process 0 with its proof: goes on from the tree that another run has left. Call it after
  // set_proved(). Errors: kInvalidInput if it does not fit to the model.
  Status set_open_proof(std::string_view message);
  // Lets the search end once it is proved that no plan rates below this.
  void set_to_beat(double rating) { to_beat_ = rating; }

  std::size_t batches_in_flight() const { return 1; }
  std::size_t propose(std::size_t slot, const Budget& budget);
  RangeSizes range_sizes() const { return {1, 1}; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget);
  bool synchronize(std::size_t slot, Budget& budget);

  const std::optional<RatedPlan>& best() const { return best_; }
  // Returns true if there is no feasible plan: a table fits nowhere, or every plan was tried.
  bool none_exists() const { return hopeless_ || (solved_ && !best_); }
  // A lower bound of the rating of every plan; 0 if there is none.
  double bound() const { return bound_; }
  // Why a process ended the search of all, if one did: it was interrupted, or it has left.
  std::optional<StopReason> stopped_by() const { return stopped_by_; }
  // Null without a proof, and in processes other than the first.
  const BoundCertificate* certificate() const {
    if (by_search_) return &*by_search_;
    return proof_.prover() != nullptr ? &proof_.prover()->certificate() : nullptr;
  }
  // Of a lower bound, if the check of that one takes long; null otherwise.
  const BoundCertificate* short_certificate() const {
    return proof_.prover() != nullptr ? proof_.prover()->short_certificate() : nullptr;
  }
  // In process 0 with its proof: what set_open_proof() takes. Nothing if there is no tree to go on
  // from, or if the search is done. Call it between rounds.
  std::optional<std::string> open_proof() const;
  const std::vector<ImprovementStep>& steps() const { return steps_; }
  // Steps of the longest lane of every round, summed: with unlimited threads the rounds take as
  // long as these steps.
  std::uint64_t span() const { return span_; }
  // Steps of the lanes of this process.
  std::uint64_t own_work() const { return own_work_; }
  // Steps of the process with most of them in every round, summed: with one thread each, the rounds
  // take as long as these steps.
  std::uint64_t process_span() const { return process_span_; }
  // That work on a tree of the proof together in the next round; 0 if none is dealt out.
  std::uint32_t tree_processes() const { return proof_.tree_processes(); }
  // What was copied to make the plans that lanes hand to each other.
  const PlanCopies& copies() const { return copies_; }

 private:
  // What the proof is to show: that no plan rates below this. Precondition: there is a best plan.
  double aim() const { return std::min(best_->rating, to_beat_); }
  bool is_proved() const;
  bool goes_on() const;
  void certify_search(const Budget& budget);
  bool is_done() const;
  bool is_alone() const { return group_ == nullptr || group_->is_alone(); }
  void count_by_process(const std::vector<std::uint64_t>& lane_work);
  FoundAllocation best_of_own_lanes() const;
  const RatedAllocation* take_in_merging(const RoundReport& round);
  ProofReport report_of_proof(const Budget& budget);
  RoundReport report_of_round(const Budget& budget);
  RoundReport join_reports(RoundReport own, const Allocation* known);
  void take_in(const ProofReport& proof, const RoundReport& round, Budget& budget);
  bool exchange_verdict(Verdict& verdict, const Allocation* known);
  void publish(const RatedAllocation& found);
  void suggest_to_lane(std::vector<SuggestedStart> suggestions);
  std::optional<RatedAllocation> rated(Allocation allocation);
  std::optional<RatedAllocation> found_by_proof(const std::vector<SuggestedStart>& suggestions);
  double recent_fall(std::uint64_t work, std::uint64_t parts) const;
  std::uint64_t proof_share(std::uint64_t work) const;
  std::uint64_t work_of_round() const {
    return merges_ ? std::min(round_work_, merging_.round_work()) : round_work_;
  }
  void shorten_round(const Budget& budget);

  BestParameters parameters_;
  SearchContext context_;
  bool hopeless_;  // a table has no choice whose shards fit on any rank
  SearchGroup* group_;
  bool proves_;  // in some process
  ProofPart proof_;
  double to_beat_ = std::numeric_limits<double>::infinity();
  SearchLanes lanes_;
  MergingSearch merging_;
  bool merges_ = false;  // in this round, instead of the lanes
  std::uint64_t round_work_;
  double bound_ = 0;
  bool proof_finished_ = false;
  bool solving_ = false;    // a tiny model is searched whole, not yet to the end
  bool solved_ = false;     // every plan was tried
  bool certifies_ = false;  // ... in the last round; this one only tries to make that the proof
  bool certified_ = false;  // ... which is the proof
  std::optional<std::vector<BoundNode>> search_proof_;  // leaves
  std::optional<BoundCertificate> by_search_;
  std::optional<StopReason> stopped_by_;
  double round_bound_ = 0;                // the bound at the start of the round, which lanes see
  std::size_t first_lane_ = 0;            // that looks for plans, after those of the proof
  std::vector<std::uint64_t> lane_work_;  // in this round
  std::uint64_t span_ = 0;
  std::uint64_t own_work_ = 0;
  std::uint64_t process_span_ = 0;
  std::optional<Plan> known_;  // the plan that all lanes know: the best one, or the start
  std::optional<RatedPlan> best_;
  std::uint64_t best_since_ = 0;                 // work done when it was found
  bool is_improving_ = false;                    // the plan, by much of its distance to the bound
  std::uint64_t bound_since_ = 0;                // work done when the bound last rose
  Suggestions suggestions_;
  std::vector<ImprovementStep> steps_;
  PlanCopies copies_;
};

}  // namespace shardwright::embedding
