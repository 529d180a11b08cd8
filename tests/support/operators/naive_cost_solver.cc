#include "tests/support/operators/naive_cost_solver.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace shardwright::test_support {

std::optional<NaiveCostSolution> solve_naively(const operators::CostInstance& instance) {
  std::optional<NaiveCostSolution> best;
  std::vector<std::uint32_t> choice(instance.num_nodes(), 0);
  for (;;) {
    const operators::CostEvaluation evaluation = operators::evaluate(instance, choice);
    if (evaluation.feasible()) {
      if (!best || evaluation.total() < best->cost) {
        best = NaiveCostSolution{choice, evaluation.total(), 1};
      } else if (evaluation.total() == best->cost) {
        ++best->num_optima;
      }
    }
    std::size_t n = 0;
    while (n < choice.size() && ++choice[n] == instance.num_strategies(n))
      choice[n++] = 0;
    if (n == choice.size()) return best;
  }
}

}  // namespace shardwright::test_support
