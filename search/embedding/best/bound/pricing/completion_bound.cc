#include "search/embedding/best/bound/pricing/completion_bound.h"

namespace shardwright::embedding {

void CompletionBound::reset(const Knapsack& knapsack) {
  knapsack_ = &knapsack;
  relaxations_.clear();
}

void CompletionBound::add_relaxation(const CapacityMultipliers& multipliers) {
  Relaxation& added = relaxations_.emplace_back();
  const Resources& capacity = knapsack_->capacity();
  added.multipliers = multipliers;
  added.max_value = cost_at(multipliers, capacity);
  for (const ItemClass& own : knapsack_->classes()) {
    double best = 0;
    for (const Item& item : knapsack_->items_of(own))
      best = std::max(best, reduced_value(item.value, item.use, multipliers));
    added.best_values.push_back(own.copies * best);
    added.max_value += added.best_values.back();
  }
}

void CompletionBound::begin() {
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest = relaxation.max_value;
  free_use_ = knapsack_->capacity();
  free_use_.load *= 1 - kPricingTolerance;  // so that rounding does not make a fit fail
  for (const ItemClass& own : knapsack_->classes())
    free_use_.remove(own.copies, own.max_use);
}

void CompletionBound::pass_value(std::size_t class_index) {
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest -= relaxation.best_values[class_index];
}

void CompletionBound::pass_use(const ItemClass& own) {
  free_use_.remove(-static_cast<double>(own.copies), own.max_use);
}

void CompletionBound::look_ahead(const ItemClass& own, std::uint32_t item) {
  for (Relaxation& relaxation : relaxations_) {
    relaxation.copy_ahead = 0;
    for (std::uint32_t i = item; i < own.first_item + own.num_items; ++i) {
      const Item& next = knapsack_->items()[i];
      relaxation.copy_ahead = std::max(relaxation.copy_ahead,
                                       reduced_value(next.value, next.use, relaxation.multipliers));
    }
  }
}

}  // namespace shardwright::embedding
