#include "runtime/embedding/layout_problem.h"

#include <optional>
#include <utility>

namespace shardwright {

using embedding::MachineLayout;
using embedding::Problem;

Result<std::shared_ptr<const Problem>> layout_problem(const Problem& problem,
                                                      const MachineLayout& layout) {
  embedding::ProblemSpec spec = problem.spec();
  spec.topology = with_layout(std::move(spec.topology), layout);
  SHARDWRIGHT_ASSIGN_OR_RETURN(Problem made, Problem::make(std::move(spec)));
  return std::make_shared<const Problem>(std::move(made));
}

Result<std::shared_ptr<const Problem>> problem_of_plan(std::shared_ptr<const Problem> problem,
                                                       const PlanDocument& document) {
  const std::optional<MachineLayout> layout = document.layout_on(problem->topology());
  if (problem->topology().layouts().empty() || !layout) return problem;
  return layout_problem(*problem, *layout);
}

}  // namespace shardwright
