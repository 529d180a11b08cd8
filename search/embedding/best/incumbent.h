// The best solution of a lane, and the breaking of ties.
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
  // The largest load of a rank; equals the verifier's rating up to rounding.
  double rating = 0;
  std::int64_t peak_hbm_bytes = 0;  // of the fullest rank
};

// The plan that lanes exchange between rounds. Thread safety: a value.
struct RatedPlan {
  Plan plan;  // tables in the model's order
  double rating = 0;
  std::int64_t peak_hbm_bytes = 0;
};

// Returns true if `a` has the lower rating, or the same rating and the lower HBM peak.
template <class A, class B>
bool is_better(const A& a, const B& b) {
  if (a.rating != b.rating) return a.rating < b.rating;
  return a.peak_hbm_bytes < b.peak_hbm_bytes;
}

// Relative differences of ratings and bounds below this count as rounding.
constexpr double kLeastProgress = 1e-9;

// The best allocation that a lane knows.
// Thread safety: one thread at a time. Refers to the context.
class Incumbent {
 public:
  explicit Incumbent(const SearchContext& context) : scratch_(context) {}

  const std::optional<RatedAllocation>& best() const { return best_; }
  bool exists() const { return best_.has_value(); }
  double rating() const { return best_->rating; }
  // An allocation is better if it rates below this bar. Precondition: exists().
  double bar() const { return best_->rating * (1 - kLeastProgress); }
  // Returns true if the rating meets the lower bound.
  bool at_bound(double lower_bound) const {
    return best_ && best_->rating <= lower_bound * (1 + kLeastProgress);
  }

  // Sets the allocation to which tables return if ratings tie. Only the first call counts.
  void set_reference(std::shared_ptr<const Allocation> reference);
  // Makes the allocation best() if it is feasible and better. Returns true if it did.
  bool offer(Allocation allocation);
  // Makes a feasible plan best() if it is better. Copies the tables that differ, and marks these as
  // changed in `state`. Returns true if it did. Cost: reads all ranks.
  bool offer(const RatedPlan& found, AllocationState& state);
  // Makes the allocation of the state best(). Copies only the tables that the state marks as
  // changed, and clears the marks. Precondition: the allocation is feasible, complete and not
  // worse.
  void keep(AllocationState& state);
  // Calls break_ties() on best(), with at most `most_work`, and computes its rating again without
  // accumulated rounding. Returns the tables that changed, valid until the next call; none if
  // is_settled().
  std::span<const std::uint32_t> settle(std::uint64_t most_work, const Budget& budget);
  // The work of settle() since the last call.
  std::uint64_t take_settling_work() { return std::exchange(settling_work_, 0); }
  // Returns true if best() has not changed since the last settle().
  bool is_settled() const { return settled_; }

  // Scratch for whole allocations.
  AllocationState& scratch() { return scratch_; }

 private:
  void begin(AllocationState& state);

  AllocationState scratch_;
  std::optional<RatedAllocation> best_;
  std::shared_ptr<const Allocation> reference_;
  bool settled_ = true;
  std::uint64_t settling_work_ = 0;
};

// Changes single tables and shards without raising the largest load. First lowers the HBM of the
// fullest rank. Then moves tables and shards to their places in `reference` (may be null) unless
// this raises the HBM of the fullest rank. Cost: O(shards x ranks) per shard or table moved. Ends
// early if the budget is interrupted, or after `most` work. Returns the work, in updates of a rank
// or a shard.
// Precondition: the allocation is complete, within the memory, and breaks no rule.
std::uint64_t break_ties(AllocationState& state, const Allocation* reference, std::uint64_t most,
                         const Budget& budget = {});

}  // namespace shardwright::embedding
