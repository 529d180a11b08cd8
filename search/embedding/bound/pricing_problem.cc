#include "search/embedding/bound/pricing_problem.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

// The search for the multipliers of one knapsack.
// Thread safety: one thread at a time.
class MultiplierSearch {
 public:
  MultiplierSearch(const Knapsack& knapsack, const KnapsackParameters& parameters,
                   std::uint64_t& steps)
      : knapsack_(knapsack), parameters_(parameters), steps_(steps) {}

  // Load always gets a multiplier, because its capacity almost always binds. A memory tier gets one
  // only if the items chosen without it exceed the tier.
  CapacityMultipliers run() {
    CapacityMultipliers best;
    minimise_over_load(best);
    if (relaxed(best).slack.ddr < 0) {
      best.ddr = bisect(&CapacityMultipliers::ddr, &Resources::ddr, best);
    }
    if (knapsack_.capacity().ssd > 0 && relaxed(best).slack.ssd < 0) {
      best.ssd = bisect(&CapacityMultipliers::ssd, &Resources::ssd, best);
    }
    if (relaxed(best).slack.hbm < 0) minimise_over_hbm(best);
    return best;
  }

 private:
  struct Relaxed {
    double value = 0;
    Resources slack;  // capacity that the chosen items leave; negative if they exceed it
  };

  Relaxed relaxed(const CapacityMultipliers& multipliers) const {
    const Resources& capacity = knapsack_.capacity();
    Relaxed result{cost_at(multipliers, capacity), capacity};
    for (const ItemClass& item_class : knapsack_.classes()) {
      double best = 0;
      const Item* chosen = nullptr;
      for (const Item& item : knapsack_.items_of(item_class)) {
        const double reduced = reduced_value(item.value, item.use, multipliers);
        if (reduced > best) {
          best = reduced;
          chosen = &item;
        }
      }
      result.value += item_class.copies * best;
      if (chosen == nullptr) continue;
      result.slack.remove(item_class.copies, chosen->use);
    }
    return result;
  }

  // Returns the multiplier above which no item that uses the resource has a positive reduced value.
  double largest_useful(double Resources::*resource) const {
    double largest = 0;
    for (const Item& item : knapsack_.items()) {
      if (item.use.*resource > 0) largest = std::max(largest, item.value / (item.use.*resource));
    }
    return largest;
  }

  // Returns the least multiplier of the resource at which the chosen items fit. The other
  // multipliers are those of `trial`.
  double bisect(double CapacityMultipliers::*multiplier, double Resources::*resource,
                CapacityMultipliers trial) {
    trial.*multiplier = 0;
    steps_ += knapsack_.items().size();
    if (relaxed(trial).slack.*resource >= 0) return 0;
    double low = 0;
    double high = largest_useful(resource);
    for (std::uint32_t i = 0; i < parameters_.multiplier_bisections; ++i) {
      trial.*multiplier = (low + high) / 2;
      (relaxed(trial).slack.*resource < 0 ? low : high) = trial.*multiplier;
    }
    steps_ += parameters_.multiplier_bisections * knapsack_.items().size();
    return high;
  }

  // Sets the best multiplier of load for the others. Returns the value of the relaxation.
  double minimise_over_load(CapacityMultipliers& multipliers) {
    multipliers.load = bisect(&CapacityMultipliers::load, &Resources::load, multipliers);
    return relaxed(multipliers).value;
  }

  // Sets the best multipliers of HBM and load. The value that minimise_over_load() returns is
  // convex in the multiplier of HBM.
  // Source: J. Kiefer, "Sequential Minimax Search for a Maximum" (1953), golden section.
  void minimise_over_hbm(CapacityMultipliers& best) {
    constexpr double kGoldenRatio = 0.6180339887498949;
    const auto value_at = [&](double hbm) {
      CapacityMultipliers trial = best;
      trial.hbm = hbm;
      return minimise_over_load(trial);
    };
    double low = 0;
    double high = largest_useful(&Resources::hbm);
    double left = high - kGoldenRatio * (high - low);
    double right = low + kGoldenRatio * (high - low);
    double at_left = value_at(left);
    double at_right = value_at(right);
    for (std::uint32_t i = 0; i < parameters_.hbm_sections; ++i) {
      if (at_left <= at_right) {
        high = right;
        right = left;
        at_right = at_left;
        at_left = value_at(left = high - kGoldenRatio * (high - low));
      } else {
        low = left;
        left = right;
        at_left = at_right;
        at_right = value_at(right = low + kGoldenRatio * (high - low));
      }
    }
    best.hbm = at_left <= at_right ? left : right;
    minimise_over_load(best);
  }

  const Knapsack& knapsack_;
  const KnapsackParameters& parameters_;
  std::uint64_t& steps_;
};

}  // namespace

CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps) {
  return MultiplierSearch(knapsack, parameters, steps).run();
}

PricingAnswer PricingProblem::solve(const PricingQuery& query, Budget& budget) {
  const std::uint64_t steps_before = search_.steps();
  std::uint64_t multiplier_steps = 0;
  knapsack_.fill(*rows_, rank_class_, query);
  PricingAnswer answer;
  answer.multipliers = best_multipliers(knapsack_, parameters_, multiplier_steps);
  Found found = find(answer.multipliers, query);
  if (found == Found::kTooMany) {
    knapsack_.round_down(KnapsackParameters::kRoundingUnits);
    found = find(answer.multipliers, query);
  }
  answer.value = search_.best_value();
  answer.max_value = (found == Found::kBest ? search_.proved_value() : search_.relaxed_value()) *
                     (1 + kPricingTolerance);
  answer.pattern = best_pattern();
  budget.spend(multiplier_steps +
               KnapsackParameters::kLabelWork * (search_.steps() - steps_before));
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

// Runs a beam search first. Its pattern may suffice, or else prunes most labels of the full search.
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
