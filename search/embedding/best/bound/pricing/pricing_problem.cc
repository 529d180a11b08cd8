#include "search/embedding/best/bound/pricing/pricing_problem.h"

#include <algorithm>

#include "search/embedding/best/bound/pricing/multipliers.h"

namespace shardwright::embedding {

PricingAnswer PricingProblem::solve(const PricingQuery& query, Budget& budget) {
  const std::uint64_t steps_before = search_.steps();
  std::uint64_t multiplier_steps = 0;
  knapsack_.fill(*rows_, rank_class_, query);
  PricingAnswer answer;
  answer.multipliers = best_multipliers(knapsack_, parameters_, multiplier_steps);
  Found found = find(answer.multipliers, query);
  if (found == Found::kTooMany) {
    knapsack_.round_down(parameters_.rounding_units);
    found = find(answer.multipliers, query);
  }
  answer.value = search_.best_value();
  answer.max_value = (found == Found::kBest ? search_.proved_value() : search_.relaxed_value()) *
                     (1 + kPricingTolerance);
  answer.pattern = best_pattern();
  budget.spend(multiplier_steps + parameters_.label_work * (search_.steps() - steps_before));
  return answer;
}

PricingAnswer PricingProblem::relax(const PricingQuery& query, Budget& budget) {
  std::uint64_t steps = 0;
  knapsack_.fill(*rows_, rank_class_, query);
  PricingAnswer answer;
  answer.multipliers = best_multipliers(knapsack_, parameters_, steps);
  knapsack_.sort_classes(answer.multipliers);
  search_.begin(knapsack_, answer.multipliers, query.at_least);
  answer.max_value = search_.relaxed_value() * (1 + kPricingTolerance);
  budget.spend(steps);
  return answer;
}

// A fast search first: its pattern ends most labels of the full search, and may be good enough.
PricingProblem::Found PricingProblem::find(const CapacityMultipliers& multipliers,
                                           const PricingQuery& query) {
  knapsack_.sort_classes(multipliers);
  search_.begin(knapsack_, multipliers, query.at_least);
  search_.run_beam();
  if (search_.best_value() > query.at_least * (1 + parameters_.good_enough)) return Found::kGood;
  if (!query.exact && !was_easy_) return Found::kGood;
  const std::uint64_t before = search_.steps();
  const bool complete = search_.run_to_end();
  was_easy_ = complete && search_.steps() - before < parameters_.max_easy_steps;
  if (complete) return Found::kBest;
  return query.exact ? Found::kTooMany : Found::kGood;
}

RankPattern PricingProblem::best_pattern() const {
  RankPattern pattern;
  pattern.rank_class = rank_class_;
  auto& shards = pattern.shards;
  for (const Item& item : search_.best_items()) {
    if (item.count > 0) shards.emplace_back(item.row, item.count);
    if (item.other_count > 0) shards.emplace_back(item.other_row, item.other_count);
  }
  std::sort(shards.begin(), shards.end());
  std::size_t kept = 0;
  for (const auto& [row, count] : shards) {
    pattern.load += count * rows_->rows()[row].load;
    if (kept > 0 && shards[kept - 1].first == row) {
      shards[kept - 1].second += count;
    } else {
      shards[kept++] = {row, count};
    }
  }
  shards.resize(kept);
  return pattern;
}

}  // namespace shardwright::embedding
