// Independent searches, and searches among the choices that their plans have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/plan_edit.h"
#include "search/budget.h"
#include "search/embedding/best/incumbent/rated.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/best/processes/round_report.h"
#include "search/embedding/best/search_lanes.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/context/search_context.h"

namespace shardwright::embedding {

// All lanes of best mode learn from one plan, and where memory is full they stay near it. Here the
// same lanes begin anew, without it, for some plans one after another. Then they search a model of
// only those choices that the plans and the best known one have: one to two of a table, so that
// they soon find the best plan among them. The merged plan is the first one of the next round of
// searches. Plans are allocations of the model, also if they were found in the smaller one.
// Source: Blum et al. 2016, "Construct, Merge, Solve & Adapt", and Cook and Seymour 2003, "Tour
// merging via branch-decomposition".
// Thread safety: lanes() as SearchLanes; everything else on one thread. Refers to the context.
class MergingSearch {
 public:
  MergingSearch(const SearchContext& context, std::uint64_t seed, const BestParameters& parameters);
  MergingSearch(const MergingSearch&) = delete;
  MergingSearch& operator=(const MergingSearch&) = delete;

  // Returns true if the next round is its own, after so much work of all.
  bool is_due(std::uint64_t work_done) const;
  // Of a lane in such a round, at most.
  std::uint64_t round_work() const { return parameters_.merging.round_work; }

  // Makes the lanes of the next search if the last one has ended. `best_known`: made by to_plan().
  // An interrupted budget makes their prices less exact.
  void begin_round(const Plan& best_known, const Budget& budget);
  SearchLanes& lanes() { return *lanes_; }
  // The first of the best plans of its lanes, if it is better than that of this search so far.
  // `first_lane`: the number of its first lane among all.
  FoundAllocation best_of_lanes(std::size_t first_lane) const;
  // Takes in what all processes found, null if nothing, and the work of all lanes: its own, and
  // with those of the proof. Call it after every round.
  void take_in(const RatedAllocation* found, std::uint64_t own_work, std::uint64_t all_work,
               PlanCopies& copies);

  // Searches that have ended, and how many of these were among merged choices.
  std::uint64_t num_ended() const { return num_ended_; }
  std::uint64_t num_merged() const { return num_merged_; }
  // The model that is searched.
  const ChoiceModel& model() const { return merged_ ? merged_->model : context_->model(); }

 private:
  struct Merged {
    Merged(ChoiceModel own, const PricingParameters& pricing, const Budget& budget)
        : model(std::move(own)), context(model, pricing, budget) {}
    ChoiceModel model;
    SearchContext context;
  };

  ChoiceModel merged_model(const Allocation& best_known) const;
  Allocation in_merged(Allocation own) const;
  RatedAllocation in_model(RatedAllocation own) const;
  double length() const;
  void end();

  const SearchContext* context_;
  std::uint64_t seed_;
  BestParameters parameters_;
  std::unique_ptr<Merged> merged_;       // null while all choices count
  std::unique_ptr<SearchLanes> lanes_;   // null between searches
  std::optional<Plan> known_;            // that the lanes' plans are edits of
  std::optional<RatedAllocation> best_;  // of this search
  std::uint64_t own_work_ = 0;           // of this search
  std::uint64_t all_work_ = 0;
  std::vector<Allocation> plans_;  // to be merged
  std::uint64_t num_ended_ = 0;
  std::uint64_t num_merged_ = 0;
};

}  // namespace shardwright::embedding
