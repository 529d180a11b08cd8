#include "search/embedding/best/incumbent/incumbent.h"

#include <utility>

#include "search/embedding/best/incumbent/tie_breaking.h"

namespace shardwright::embedding {

bool is_better(const RatedAllocation& a, const RatedAllocation& b) {
  if (a.rating != b.rating) return a.rating < b.rating;
  return a.peak_hbm_bytes < b.peak_hbm_bytes;
}

void Incumbent::set_reference(const Allocation& reference) {
  if (!reference_) reference_ = reference;
}

bool Incumbent::offer(const Allocation& allocation) {
  scratch_.assign(allocation);
  if (!scratch_.all_good()) return false;
  RatedAllocation rated{allocation, scratch_.max_load(), scratch_.peak_hbm()};
  if (best_ && !is_better(rated, *best_)) return false;
  best_ = std::move(rated);
  settled_ = false;
  return true;
}

void Incumbent::keep(AllocationState& state) {
  if (!best_) {
    best_.emplace();
    best_->allocation.choice.resize(state.model().num_tables());
    best_->allocation.ranks.resize(state.model().num_tables());
    state.mark_all_changed();
  }
  for (const std::uint32_t table : state.changed_tables())
    state.copy_table(table, best_->allocation);
  state.clear_changed();
  best_->rating = state.max_load();
  best_->peak_hbm_bytes = state.peak_hbm();
  settled_ = false;
}

std::span<const std::uint32_t> Incumbent::settle() {
  if (settled_) return {};
  settled_ = true;
  scratch_.assign(best_->allocation);
  scratch_.clear_changed();
  break_ties(scratch_, reference_ ? &*reference_ : nullptr);
  for (const std::uint32_t table : scratch_.changed_tables())
    scratch_.copy_table(table, best_->allocation);
  scratch_.recompute();
  best_->rating = scratch_.max_load();
  best_->peak_hbm_bytes = scratch_.peak_hbm();
  return scratch_.changed_tables();
}

}  // namespace shardwright::embedding
