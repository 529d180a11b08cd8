// The lanes of best mode: lanes that anneal, and lanes that prove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/annealing_lane.h"
#include "search/embedding/best/best_parameters.h"
#include "search/embedding/best/incumbent.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/search_context.h"

namespace shardwright::embedding {

// The suggestions of the proof that wait for a lane. First come suggestions that place the most
// tables, then the newest, whose targets are closest to the bound. The ranks of a suggestion are
// returned once, and its choices without ranks a few more times, because each lane places these in
// its own way.
// Thread safety: one thread at a time. Refers to the model.
class Suggestions {
 public:
  Suggestions(const ChoiceModel& model, const LaneParameters& parameters)
      : model_(model), parameters_(parameters) {}

  // Adds suggestions. Keeps only the newest LaneParameters::most_suggestions.
  void add(std::vector<SuggestedStart> suggestions);
  // Removes and returns the next suggestion; nothing if none waits.
  std::optional<SuggestedStart> take();

 private:
  struct Waiting {
    SuggestedStart made;
    std::uint32_t tries_left = 0;
    std::size_t unplaced = 0;  // tables without ranks
  };

  const ChoiceModel& model_;
  LaneParameters parameters_;
  std::vector<Waiting> waiting_;
};

// The annealing lanes. The thread that first runs a lane creates it, so that workers share the cost
// of creation.
// Thread safety: run() may be called concurrently for different lanes; all other members belong to
// one thread at a time. Refers to the context.
class SearchLanes {
 public:
  SearchLanes(const SearchContext& context, std::uint64_t seed, const BestParameters& parameters);

  std::size_t size() const { return lanes_.size(); }

  // Sets the allocation that tables return to if ratings tie. Only the first call counts.
  void set_reference(const Allocation& reference);
  // Lanes that are created later are offered this plan, until forget_starts().
  void add_start(RatedPlan start) { starts_.push_back(std::move(start)); }
  void forget_starts() { starts_.clear(); }
  // Offers the best plan to every second lane. All other lanes continue from their own plans.
  void offer(const RatedPlan& best);
  // Gives the suggestion to the next lane in turn.
  void suggest(SuggestedStart suggestion);

  // Runs a round of a lane. Returns the work done.
  std::uint64_t run(std::size_t lane, std::uint64_t work, double lower_bound, const Budget& budget);
  // Returns the best allocation of all lanes, on a tie that of the first lane; null if it is not
  // better than `known`.
  const RatedAllocation* best_of_all(const std::optional<RatedPlan>& known) const;

 private:
  AnnealingLane& begin(std::size_t number);

  const SearchContext* context_;
  std::uint64_t seed_;
  BestParameters parameters_;
  std::vector<std::unique_ptr<AnnealingLane>> lanes_;  // null until created
  std::vector<RatedPlan> starts_;
  std::shared_ptr<const Allocation> reference_;
  std::size_t num_suggested_ = 0;
};

// The lanes of the proof. Only the first lane works until there is a large tree to share
// (BoundProver). Without a proof there are no lanes.
// Thread safety: run() may be called concurrently for different lanes; all other members belong to
// one thread at a time. Refers to the model.
class ProofLanes {
 public:
  // Only asks whether `budget` was interrupted.
  ProofLanes(const ChoiceModel& model, bool prove, const BestParameters& parameters,
             const Budget& budget);

  // Null without a proof.
  BoundProver* prover() const { return prover_.get(); }
  std::size_t size() const { return num_lanes_; }

  // Prepares a round. `aim`: the rating below which to exclude plans. `share`: limit of the work of
  // all lanes together, in units of `round_work`. `round_work`: at least the work of an annealing
  // lane in this round.
  void begin_round(double aim, std::uint64_t share, std::uint64_t round_work);
  // Prepares a round in which the proof does nothing.
  void rest() { share_ = num_working_ = 0; }
  // The limit of the work of all lanes together in this round, in units of an annealing lane's
  // work.
  std::uint64_t share() const { return share_; }
  // Runs a round of a lane. `round_work`: the work of an annealing lane.
  void run(std::size_t lane, std::uint64_t round_work, Budget& budget);
  // Notes the work of the first lane in a round. `round_work`: the work of an annealing lane.
  void end_round(std::uint64_t first_lane_work, std::uint64_t round_work);

 private:
  std::uint64_t most_alone() const;
  std::uint64_t share_of_tree(std::uint64_t share) const;

  LaneParameters parameters_;
  std::unique_ptr<BoundProver> prover_;
  std::size_t num_lanes_;
  std::uint64_t share_ = 0;        // of all lanes together, in this round
  std::size_t num_working_ = 0;    // 0, 1 or all lanes
  std::uint64_t share_alone_ = 0;  // of the first lane alone, without regard to ahead_
  std::uint64_t ahead_ = 0;        // work of the first lane beyond its share
};

}  // namespace shardwright::embedding
