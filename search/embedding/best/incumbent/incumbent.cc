#include "search/embedding/best/incumbent/incumbent.h"

#include <utility>

#include "search/embedding/best/incumbent/tie_breaking.h"

namespace shardwright::embedding {

void Incumbent::set_reference(std::shared_ptr<const Allocation> reference) {
  if (!reference_) reference_ = std::move(reference);
}

bool Incumbent::offer(Allocation allocation) {
  scratch_.assign(allocation);
  if (!scratch_.all_good()) return false;
  RatedAllocation rated{std::move(allocation), scratch_.max_load(), scratch_.peak_hbm()};
  if (best_ && !is_better(rated, *best_)) return false;
  best_ = std::move(rated);
  settled_ = false;
  return true;
}

bool Incumbent::offer(const RatedPlan& found, AllocationState& state) {
  if (best_ && !is_better(found, *best_)) return false;
  if (!best_) begin(state);
  const ChoiceModel& model = state.model();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    if (take_table(model, table, found.plan[table], best_->allocation)) state.mark_changed(table);
  }
  best_->rating = found.rating;
  best_->peak_hbm_bytes = found.peak_hbm_bytes;
  settled_ = false;
  return true;
}

// The state may differ in any table from an allocation that is still empty.
void Incumbent::begin(AllocationState& state) {
  best_.emplace().allocation = Allocation(state.model().num_tables());
  state.mark_all_changed();
}

void Incumbent::keep(AllocationState& state) {
  if (!best_) begin(state);
  for (const std::uint32_t table : state.changed_tables())
    state.copy_table(table, best_->allocation);
  state.clear_changed();
  best_->rating = state.max_load();
  best_->peak_hbm_bytes = state.peak_hbm();
  settled_ = false;
}

std::span<const std::uint32_t> Incumbent::settle(std::uint64_t most_work, const Budget& budget) {
  constexpr std::uint64_t kPasses = 6;      // to assign, sum again, and find rating and peak
  constexpr std::uint64_t kTableWork = 16;  // to assign and to sum again
  if (settled_) return {};
  settled_ = true;
  scratch_.assign(best_->allocation);
  scratch_.clear_changed();
  settling_work_ += kPasses * scratch_.pass_work() + kTableWork * scratch_.model().num_tables() +
                    break_ties(scratch_, reference_.get(), most_work, budget);
  for (const std::uint32_t table : scratch_.changed_tables())
    scratch_.copy_table(table, best_->allocation);
  scratch_.recompute();
  best_->rating = scratch_.max_load();
  best_->peak_hbm_bytes = scratch_.peak_hbm();
  return scratch_.changed_tables();
}

}  // namespace shardwright::embedding
