// The lane of best mode that solves parts of the best allocation exactly, and small models whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/exact/branch_and_bound.h"
#include "search/embedding/best/incumbent/incumbent.h"
#include "search/embedding/best/parameters/neighbourhood_parameters.h"
#include "search/random.h"

namespace shardwright::embedding {

// Large-neighbourhood search: some shards of the busiest rank and of a few others, with or without
// the choices of their tables, are placed again by branch and bound. Before that, and while there
// is no allocation to begin with, the whole model is tried the same way with more and more work,
// unless it has too many tables. The same seed, offers and work give the same result.
// Source: Shaw 1998, "Using constraint programming and local search methods to solve vehicle
// routing problems".
// Thread safety: one thread at a time; shares only the const context, which must outlive it.
class NeighbourhoodLane {
 public:
  // The first lane, 0, also tries the whole model.
  NeighbourhoodLane(const SearchContext& context, std::uint64_t seed, std::uint32_t lane,
                    const NeighbourhoodParameters& parameters = {});
  NeighbourhoodLane(const NeighbourhoodLane&) = delete;
  NeighbourhoodLane& operator=(const NeighbourhoodLane&) = delete;

  // As AnnealingLane.
  void set_reference(std::shared_ptr<const Allocation> reference) {
    incumbent_.set_reference(std::move(reference));
  }
  void offer(const RatedPlan& found);
  void run(std::uint64_t work, double lower_bound, const Budget& budget);
  const std::optional<RatedAllocation>& best() const { return incumbent_.best(); }
  std::uint64_t work() const { return neighbourhood_.work() + whole_.work() + own_work_; }

  // Returns true if the whole model was searched to the end: best() is then optimal up to
  // kLeastProgress, or there is no allocation at all.
  bool solved() const { return solved_; }

 private:
  void begin_from_best();
  void try_whole(std::uint64_t work);
  void step();
  void choose_window();
  void choose_items(bool with_choices);
  bool is_inside(std::uint32_t table) const;
  void settle(std::uint64_t most_work, const Budget& budget);

  NeighbourhoodParameters parameters_;
  const SearchContext* context_;
  AllocationState state_;  // the best allocation, or one as good with fewer busy ranks
  Incumbent incumbent_;
  BranchAndBound neighbourhood_;
  BranchAndBound whole_;
  RandomGenerator random_;
  bool solved_ = false;
  std::uint64_t whole_work_;
  std::uint64_t own_work_ = 0;
  std::vector<Rank> window_;
  std::vector<std::uint8_t> in_window_;  // by rank
  std::vector<FreeItem> items_;
};

}  // namespace shardwright::embedding
