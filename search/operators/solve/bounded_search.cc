#include "search/operators/solve/bounded_search.h"

#include <algorithm>

namespace shardwright::operators {

BoundedSearch::BoundedSearch(LocalSearch& search, DualAscent& dual,
                             const StageParameters& parameters)
    : search_(&search), dual_(&dual), parameters_(parameters), suggested_at_(dual.bound()) {}

bool BoundedSearch::is_proved() const {
  return dual_->bound() >= search_->best_cost() * (1 - kProvedWithin);
}

// During the ascent, its step is the first candidate, since it takes longer than a block.
std::size_t BoundedSearch::propose(std::size_t slot, const Budget& budget) {
  if (is_proved()) return 0;
  if (!ascends_ && search_->batches_without_better() >= parameters_.patience) return 0;
  return (ascends_ ? 1 : 0) + search_->propose(slot, budget);
}

void BoundedSearch::evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                             const Budget& budget) {
  if (ascends_) {
    if (begin == 0) work_done_ = dual_->step(parameters_.sweeps, search_->best_cost(), work_to_do_);
    begin = std::max<std::size_t>(begin, 1) - 1;
    --end;
  }
  if (begin < end) search_->evaluate(slot, worker, begin, end, budget);
}

bool BoundedSearch::synchronize(std::size_t slot, Budget& budget) {
  const std::uint64_t before = budget.work_done();
  if (!search_->synchronize(slot, budget)) return false;
  if (!ascends_) return true;
  const auto blocks = static_cast<double>(budget.work_done() - before);
  work_to_do_ = static_cast<std::uint64_t>(parameters_.ascent_share * blocks);
  budget.spend(work_done_);
  if (dual_->is_between_rounds()) end_round();
  return true;
}

void BoundedSearch::end_round() {
  ascends_ = !dual_->stalled(parameters_.last_stretch, parameters_.last_progress);
  const double gap = search_->best_cost() - suggested_at_;
  if (dual_->bound() - suggested_at_ < parameters_.suggested_progress * gap) return;
  suggested_at_ = dual_->bound();
  search_->suggest(dual_->best_choice(), dual_->prices());
}

}  // namespace shardwright::operators
