#include "search/operators/solve/exact/label_steps.h"

#include <algorithm>
#include <utility>

namespace shardwright::operators {
namespace {

void keep_if_better(const CostInstance& instance, std::vector<std::uint32_t> choice,
                    ExactResult& result) {
  const CostEvaluation evaluation = evaluate(instance, choice);
  if (!evaluation.feasible() || evaluation.total() >= result.cost) return;
  result.choice = std::move(choice);
  result.cost = evaluation.total();
}

}  // namespace

bool search_in_steps(const CostInstance& instance, LabelSearch& labels,
                     const LabelParameters& parameters, double bound, double step, double cutoff,
                     Budget& budget, ExactResult& result, std::vector<std::uint32_t>& choice) {
  bool complete = true;
  for (;;) {
    choice.clear();
    const double limit = std::min(bound + step, cutoff);
    const bool last = limit == cutoff;
    const LabelSearch::End end = complete ? labels.run(limit, budget)
                                          : labels.run_beam(limit, parameters.beam_width, budget);
    if (end == LabelSearch::End::kGivenUp) {
      if (!complete || budget.interrupted() || !budget.work_left()) return false;
      complete = false;
      continue;
    }
    if (end == LabelSearch::End::kFound) {
      keep_if_better(instance, labels.choice(), result);
      if (!complete || labels.cost() < limit) {
        choice = labels.choice();
        return complete;
      }
      cutoff = std::min(cutoff, labels.cost() * (1 + 2 * kCostRounding));
    }
    if (complete) result.lower_bound = std::max(result.lower_bound, limit);
    if (last) return complete;
    step *= parameters.step_growth;
  }
}

}  // namespace shardwright::operators
