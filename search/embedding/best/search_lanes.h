// The lanes of best mode that look for plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/exact/neighbourhood_lane.h"
#include "search/embedding/best/incumbent/rated.h"
#include "search/embedding/best/local/annealing_lane.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/model/context/search_context.h"
#include "search/embedding/model/suggested_start.h"

namespace shardwright::embedding {

// Lanes that anneal, then those that solve neighbourhoods, the first of which also tries all plans
// of a small model. Each is made by the thread that runs it first, which shares the cost among the
// workers and lets a stop be heard before all of them are there.
// Thread safety: run() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the context.
class SearchLanes {
 public:
  SearchLanes(const SearchContext& context, std::uint64_t seed, const BestParameters& parameters);

  std::size_t size() const { return annealing_.size() + neighbourhoods_.size(); }

  // Tables return to where the first such allocation has them, if ratings tie.
  void set_reference(const Allocation& reference);
  // Lanes that are made in the next round begin with it, too.
  void add_start(RatedPlan start) { starts_.push_back(std::move(start)); }
  void forget_starts() { starts_.clear(); }
  // Every second lane that anneals continues from the best plan, the others from their own.
  void offer(const RatedPlan& best);
  // The lanes that anneal take turns with what the proof suggests.
  void suggest(SuggestedStart suggestion);

  // A round of a lane. Returns the work that it did, in steps.
  std::uint64_t run(std::size_t lane, std::uint64_t work, double lower_bound, const Budget& budget);
  // What the lane has found; null if it was not made.
  const std::optional<RatedAllocation>* best(std::size_t lane) const;
  // The first of the best allocations of all lanes; null if none is better than what is known.
  const RatedAllocation* best_of_all(const std::optional<RatedPlan>& known) const;
  // Returns true if a lane has tried every plan.
  bool has_tried_all_plans() const {
    return neighbourhoods_.front() && neighbourhoods_.front()->solved();
  }

 private:
  template <class Lane, class Parameters>
  Lane& begin(std::vector<std::unique_ptr<Lane>>& lanes, std::size_t number,
              const Parameters& parameters);
  template <class Lane>
  void offer_to(const std::unique_ptr<Lane>& lane, const RatedPlan& best);

  const SearchContext* context_;
  std::uint64_t seed_;
  BestParameters parameters_;
  std::vector<std::unique_ptr<AnnealingLane>> annealing_;           // null until made
  std::vector<std::unique_ptr<NeighbourhoodLane>> neighbourhoods_;  // likewise
  std::vector<RatedPlan> starts_;
  std::shared_ptr<const Allocation> reference_;
  std::size_t num_suggested_ = 0;
};

}  // namespace shardwright::embedding
