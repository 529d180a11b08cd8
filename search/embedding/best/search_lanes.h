// The lanes of best mode that look for plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/incumbent/rated.h"
#include "search/embedding/best/local/annealing_lane.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/context/search_context.h"
#include "search/embedding/model/suggested_start.h"

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

}  // namespace shardwright::embedding
