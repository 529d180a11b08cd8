// The stream that solves parts of the best allocation exactly, and the whole of small ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/exact/branch_and_bound.h"
#include "search/embedding/best/local/annealing_lane.h"
#include "search/random.h"

namespace shardwright::embedding {

// Large-neighbourhood search: the busiest rank and a few others are emptied of some of their
// shards, with or without the choices of their tables, and filled anew by branch and bound. Before
// that, and while there is no allocation to begin with, the whole model is tried the same way with
// more and more work, unless it has too many tables. Source: Shaw 1998, "Using constraint
// programming and local search methods to solve vehicle routing problems". The same seed, offers
// and work give the same result. Thread safety: one thread at a time; shares only the const
// context, which must outlive it.
class NeighbourhoodLane {
 public:
  NeighbourhoodLane(const SearchContext& context, std::uint64_t seed);

  // As AnnealingLane.
  void offer(const Allocation& start);
  void run(std::uint64_t work, double lower_bound, const Budget& budget);
  const std::optional<RatedAllocation>& best() const { return best_; }
  std::uint64_t work() const { return exact_.work() + whole_.work() + own_work_; }

  // The whole model was tried to the end: best() is optimal up to 1e-11, and where there is none,
  // there is no allocation at all.
  bool solved() const { return solved_; }

 private:
  void take(const Allocation& start);
  void try_whole(std::uint64_t work);
  void step();
  void choose_window();
  void choose_items(bool with_choices);
  bool is_inside(std::uint32_t table) const;
  void keep_best();
  void settle_best();

  const SearchContext* context_;
  AllocationState loads_;    // the best allocation, or one as good with fewer busy ranks
  AllocationState scratch_;  // for whole allocations
  BranchAndBound exact_;
  BranchAndBound whole_;
  RandomGenerator draws_;
  std::optional<RatedAllocation> best_;
  std::optional<Allocation> reference_;
  bool settled_ = false;
  bool solved_ = false;
  std::uint64_t whole_work_;
  std::uint64_t own_work_ = 0;
  std::vector<Rank> window_;
  std::vector<std::uint8_t> in_window_;  // by rank
  std::vector<FreeItem> items_;
};

}  // namespace shardwright::embedding
