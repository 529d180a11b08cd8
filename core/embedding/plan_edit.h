// Publishes a better plan as an edit of the plan that everybody knows, and counts what it copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "core/embedding/plan.h"

namespace shardwright::embedding {

// What published plans copied and what they shared with the plan that they were an edit of. The
// first plan of a search has nothing to share and counts as copied. The counts depend on the
// problem, the seed and the work budget only.
struct PlanCopies {
  std::uint64_t plans = 0;
  std::uint64_t assignments_shared = 0;
  std::uint64_t assignments_copied = 0;
  std::uint64_t rank_bytes_copied = 0;
  std::uint64_t nodes_copied = 0;   // tree nodes of 8 assignments or pointers
  std::uint64_t options_added = 0;  // interned beyond the search space, such as scaled caches

  PlanCopies& operator+=(const PlanCopies& other) {
    plans += other.plans;
    assignments_shared += other.assignments_shared;
    assignments_copied += other.assignments_copied;
    rank_bytes_copied += other.rank_bytes_copied;
    nodes_copied += other.nodes_copied;
    options_added += other.options_added;
    return *this;
  }
  friend bool operator==(const PlanCopies&, const PlanCopies&) = default;
};

// Collects changed assignments of one plan and applies them together, so that a tree node with
// several changes is copied once. The base plan is not changed.
// Thread safety: one thread at a time; the plans may be used from any thread.
class PlanEdit {
 public:
  explicit PlanEdit(const Plan& base) : base_(base) {}

  const Plan& base() const { return base_; }
  bool empty() const { return changes_.empty(); }

  // Replaces assignment i and shares its ranks. At most once for each i. Precondition: the base
  // plan's owner keeps the option alive.
  void set(std::size_t i, Assignment assignment) {
    SHARDWRIGHT_DCHECK(i < base_.size());
    changes_.push_back({i, std::move(assignment)});
  }
  // Copies `ranks`, one per shard or none for rank order, unless assignment i has this option and
  // these ranks already.
  void set_if_different(std::size_t i, const ShardingOption& option, std::span<const Rank> ranks) {
    if (base_[i].is(option, ranks)) return;
    set(i, Assignment::make(option, ranks));
    rank_bytes_ += changes_.back().value.ranks.view().size_bytes();
  }

  // The base plan with all changes. The edit is empty afterwards. Cost: the nodes that lead to a
  // change, one allocation each; O(changes log changes) time if they were not set in order.
  Plan publish(PlanCopies& copies) {
    const auto by_index = [](const Change& a, const Change& b) { return a.index < b.index; };
    if (!std::is_sorted(changes_.begin(), changes_.end(), by_index))
      std::sort(changes_.begin(), changes_.end(), by_index);
    count(copies);
    Plan changed = base_;
    changed.assignments_ =
        base_.assignments_.set_all(std::span<Change>(changes_.data(), changes_.size()));
    changes_.clear();
    rank_bytes_ = 0;
    return changed;
  }

  // Counts a plan that is published without a base.
  static void count_whole(const Plan& plan, PlanCopies& copies) {
    ++copies.plans;
    copies.assignments_copied += plan.size();
    copies.nodes_copied += plan.assignments_.num_nodes();
    for (std::size_t i = 0; i < plan.size(); ++i)
      copies.rank_bytes_copied += plan[i].ranks.view().size_bytes();
  }

 private:
  using Change = PersistentVector<Assignment>::Change;

  void count(PlanCopies& copies) const {
    ++copies.plans;
    copies.assignments_shared += base_.size() - changes_.size();
    copies.assignments_copied += changes_.size();
    copies.nodes_copied +=
        base_.assignments_.nodes_copied(std::span<const Change>(changes_.data(), changes_.size()));
    copies.rank_bytes_copied += rank_bytes_;
  }

  Plan base_;
  boost::container::small_vector<Change, 16> changes_;  // few between two kept candidates
  std::uint64_t rank_bytes_ = 0;                        // copied by set_if_different()
};

}  // namespace shardwright::embedding
