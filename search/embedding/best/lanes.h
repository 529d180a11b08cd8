// The lanes of best mode that look for plans.
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

// First comes what has places for the most tables, and of those the last: they are for the targets
// closest to the bound. Places are given once; then the choices alone a few times, as each lane
// places them in its own way.
// Thread safety: one thread at a time. Refers to the model.
class Suggestions {
 public:
  Suggestions(const ChoiceModel& model, const LaneParameters& parameters)
      : model_(model), parameters_(parameters) {}

  // Too many push the oldest ones out.
  void add(std::vector<SuggestedStart> suggestions);
  // What to try next; nothing if none waits.
  std::optional<SuggestedStart> take();

 private:
  struct Waiting {
    SuggestedStart made;
    std::uint32_t tries_left = 0;
    std::size_t unplaced = 0;  // tables without a place
  };

  const ChoiceModel& model_;
  LaneParameters parameters_;
  std::vector<Waiting> waiting_;
};

// Lanes that anneal. Each is made by the thread that runs it first, which shares the cost among the
// workers and lets a stop be heard before all of them are there.
// Thread safety: run() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the context.
class SearchLanes {
 public:
  SearchLanes(const SearchContext& context, std::uint64_t seed, const BestParameters& parameters);

  std::size_t size() const { return lanes_.size(); }

  // Tables return to where the first such allocation has them, if ratings tie.
  void set_reference(const Allocation& reference);
  // Lanes that are made in the next round begin with it, too.
  void add_start(RatedPlan start) { starts_.push_back(std::move(start)); }
  void forget_starts() { starts_.clear(); }
  // Every second lane continues from the best plan, the others from their own.
  void offer(const RatedPlan& best);
  // The lanes take turns with what the proof suggests.
  void suggest(SuggestedStart suggestion);

  // A round of a lane. Returns the work that it did, in steps.
  std::uint64_t run(std::size_t lane, std::uint64_t work, double lower_bound, const Budget& budget);
  // The first of the best allocations of all lanes; null if none is better than what is known.
  const RatedAllocation* best_of_all(const std::optional<RatedPlan>& known) const;

 private:
  AnnealingLane& begin(std::size_t number);

  const SearchContext* context_;
  std::uint64_t seed_;
  BestParameters parameters_;
  std::vector<std::unique_ptr<AnnealingLane>> lanes_;  // null until made
  std::vector<RatedPlan> starts_;
  std::shared_ptr<const Allocation> reference_;
  std::size_t num_suggested_ = 0;
};

// Only the first lane works until there is a large tree to share. Without a proof there are no
// lanes.
// Thread safety: run() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the model.
class ProofLanes {
 public:
  // `budget` is only asked whether it was interrupted.
  ProofLanes(const ChoiceModel& model, bool prove, const BestParameters& parameters,
             const Budget& budget);

  // Null without a proof.
  BoundProver* prover() const { return prover_.get(); }
  std::size_t size() const { return num_lanes_; }

  // What the proof of this aim does in the next round, with at most `share` of the work, in lanes
  // that look for plans. `round_work`: of such a lane, in the next round or more.
  void begin_round(double aim, std::uint64_t share, std::uint64_t round_work);
  // The proof does nothing in the next round.
  void rest() { share_ = num_working_ = 0; }
  // What all lanes of the proof may do in this round, in lanes that look for plans.
  std::uint64_t share() const { return share_; }
  // A round of a lane: `round_work` is what a lane has that looks for plans.
  void run(std::size_t lane, std::uint64_t round_work, Budget& budget);
  // Takes note of what the first lane did in a round of so much work.
  void end_round(std::uint64_t first_lane_work, std::uint64_t round_work);

 private:
  std::uint64_t most_alone() const;
  std::uint64_t share_of_tree(std::uint64_t share) const;

  LaneParameters parameters_;
  std::unique_ptr<BoundProver> prover_;
  std::size_t num_lanes_;
  std::uint64_t share_ = 0;        // of all lanes, in this round
  std::size_t num_working_ = 0;    // none, the first one, or all
  std::uint64_t share_alone_ = 0;  // of the lane that works alone, before it makes up
  std::uint64_t ahead_ = 0;        // what that lane did beyond its share
};

}  // namespace shardwright::embedding
