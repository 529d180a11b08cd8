#include "search/embedding/questions/memory_chain.h"

#include <algorithm>
#include <cstddef>

namespace shardwright::embedding {

std::optional<Evaluation> evaluate_if_better(const Problem& problem, const Topology& available,
                                             const Plan& plan, std::optional<double> rating) {
  Evaluation evaluation = evaluate(problem, available, plan);
  if (!evaluation.valid() || (rating && *rating <= evaluation.rating)) return std::nullopt;
  return evaluation;
}

void MemoryChain::add(const std::optional<Plan>& plan, std::optional<double> rating,
                      std::optional<double> lower_bound) {
  if (plan) start_ = std::make_shared<const Plan>(*plan);
  answers_.push_back({rating, lower_bound});
}

std::vector<std::optional<double>> MemoryChain::lower_bounds() const {
  std::vector<std::optional<double>> bounds(answers_.size());
  std::optional<double> highest;
  for (std::size_t i = answers_.size(); i-- > 0;) {
    const Answer& answer = answers_[i];
    if (!answer.lower_bound) continue;
    highest = std::max(highest.value_or(0), *answer.lower_bound);
    bounds[i] = std::min(*highest, *answer.rating);
  }
  return bounds;
}

}  // namespace shardwright::embedding
