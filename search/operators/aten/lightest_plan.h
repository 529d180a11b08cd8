// Finds a plan that holds as little memory as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/aten/plan/evaluate_plan.h"
#include "search/operators/aten/sieve/sieved_search.h"

namespace shardwright::operators {

struct LightestPlan {
  // None if nothing was found. The evaluation has no violations, and the memory of all tensors.
  std::optional<AtenPlan> plan;
  AtenEvaluation evaluation;
  std::vector<std::uint32_t> choice;  // by node and output of the graph
  std::int64_t least_bytes = 0;       // proved: no plan has a lower peak
};

// `cheapest` is any plan of the graph. What is found does not depend on the request's limit, so
// that a plan within `evaluation.peak_bytes` is found again. Precondition: the request has a limit.
// Errors: those of build_model().
Result<LightestPlan> lightest_plan(const AtenGraph& graph, const AtenRequest& request,
                                   TransitionCosts& transitions, const SievedSolution& cheapest,
                                   Executor& executor, Budget& budget,
                                   const ProblemSolveOptions& options);

}  // namespace shardwright::operators
