// A solution with its rating: as a lane holds it, and as lanes hand it to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/allocation_state.h"

namespace shardwright::embedding {

struct RatedAllocation {
  Allocation allocation;
  // The largest load of a rank. Summed in another order than by the verifier.
  double rating = 0;
  std::int64_t peak_hbm_bytes = 0;  // of the shards on the fullest rank
};

// What a lane offers to the others between rounds. Thread safety: a value.
struct RatedPlan {
  Plan plan;  // made by to_plan(): tables in the model's order
  double rating = 0;
  std::int64_t peak_hbm_bytes = 0;
};

// Returns true if a has the lower rating, or the same rating and the lower peak.
template <class A, class B>
bool is_better(const A& a, const B& b) {
  if (a.rating != b.rating) return a.rating < b.rating;
  return a.peak_hbm_bytes < b.peak_hbm_bytes;
}

// A rating improves, and a bound is met, by more than this part of it; less is rounding.
constexpr double kLeastProgress = 1e-9;

// Thread safety: one thread at a time. Refers to the context.
class Incumbent {
 public:
  explicit Incumbent(const SearchContext& context) : scratch_(context) {}

  const std::optional<RatedAllocation>& best() const { return best_; }
  bool exists() const { return best_.has_value(); }
  double rating() const { return best_->rating; }
  // A rating below which an allocation counts as better. Precondition: exists().
  double bar() const { return best_->rating * (1 - kLeastProgress); }
  // Returns true if the rating meets the lower bound.
  bool at_bound(double lower_bound) const {
    return best_ && best_->rating <= lower_bound * (1 + kLeastProgress);
  }

  // The allocation that ties are broken toward. Only the first call counts.
  void set_reference(std::shared_ptr<const Allocation> reference);
  // Takes the allocation if it is feasible and better. Returns true if it was taken.
  bool offer(Allocation allocation);
  // Takes a feasible plan if it is better: copies the tables that differ and marks them as changed
  // in the state of the lane. Returns true if it was taken. Cost: reads all ranks.
  bool offer(const RatedPlan& found, AllocationState& state);
  // Takes what the state holds, which must be feasible, complete and not worse. Copies only the
  // tables that the state marks as changed, and clears the marks.
  void keep(AllocationState& state);
  // Breaks ties, with at most so much work and unless the budget is interrupted, and puts exact
  // sums in place of running ones. Returns the tables that changed; valid until the next call of
  // any function. Returns none if is_settled().
  std::span<const std::uint32_t> settle(std::uint64_t most_work, const Budget& budget);
  // The work of settle() since the last call.
  std::uint64_t take_settling_work() { return std::exchange(settling_work_, 0); }
  // Returns true if nothing was taken since the last settle().
  bool is_settled() const { return settled_; }

  // For whole allocations; its contents mean nothing between calls.
  AllocationState& scratch() { return scratch_; }

 private:
  void begin(AllocationState& state);

  AllocationState scratch_;
  std::optional<RatedAllocation> best_;
  std::shared_ptr<const Allocation> reference_;
  bool settled_ = true;
  std::uint64_t settling_work_ = 0;
};

// Changes single tables and shards while no rank's load rises above the largest one. First lowers
// the HBM of the fullest rank, then returns tables and shards to where `reference` (may be null)
// has them unless that raises the HBM again. Cost: O(shards x ranks) per shard or table moved.
// Ends early if the budget is interrupted, or after `most` work; every step leaves an allocation
// as good as before. Work counts updates of a rank or a shard; returns what was done.
// Precondition: the allocation is complete, within the memory, and breaks no rule.
std::uint64_t break_ties(AllocationState& state, const Allocation* reference, std::uint64_t most,
                         const Budget& budget = {});

}  // namespace shardwright::embedding
