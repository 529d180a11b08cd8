// Input: a cost instance in the format of ColossalAI, XLA or the IOPDDL contest. It is solved, and
// the answer is evaluated independently.
#include <optional>

#include <nlohmann/json.hpp>

#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/solve_json.h"
#include "runtime/operators/solve.h"
#include "tests/fuzz/targets/expect.h"
#include "tests/support/operators/naive_cost_solver.h"
#include "tests/support/operators/request_evaluation.h"

namespace shardwright::fuzz {
namespace {

using namespace operators;

constexpr std::uint64_t kWorkLimit = 20'000;
constexpr std::size_t kMostChoices = 2'000;

bool can_try_all(const CostInstance& instance) {
  std::size_t choices = 1;
  for (std::size_t n = 0; n < instance.num_nodes() && choices <= kMostChoices; ++n)
    choices *= instance.num_strategies(n);
  return choices <= kMostChoices;
}

bool has_choice(const OperatorsResult& result) {
  return result.status == SolveStatus::kOptimal || result.status == SolveStatus::kFeasible;
}

void expect_sound(const OperatorProblem& problem, const OperatorsResult& result) {
  const CostEvaluation evaluation = evaluate(problem.lowered.graph(), result.choice);
  expect(evaluation.total() < kForbidden, "no forbidden choice");
  expect(close(evaluation.total() + result.overbudget_cost, result.objective),
         "the objective is what the choice costs");
  expect(result.lower_bound <= result.objective * (1 + 1e-9), "the bound is below the objective");
}

// Compares the answer with an enumeration of all choices.
void expect_optimal(const OperatorProblem& problem, const OperatorsResult& result) {
  if (problem.soft_budget || problem.max_cost || !can_try_all(problem.lowered.instance())) return;
  const auto naive = test_support::solve_naively(problem.lowered.instance());
  if (result.status == SolveStatus::kInfeasible) expect(!naive, "infeasible means no choice");
  if (has_choice(result)) expect(naive.has_value(), "a choice exists");
  if (!naive) return;
  expect(result.lower_bound <= naive->cost * (1 + 1e-9), "no choice costs less than the bound");
  if (result.status == SolveStatus::kOptimal) {
    expect(close(result.objective, naive->cost), "an optimal choice is the cheapest");
  }
}

void solve(std::string_view text, const CostInstanceOptions& options) {
  const Result<OperatorProblem> problem = read_cost_instance(text, options);
  if (!problem.ok()) return expect(!problem.error().message.empty(), "every error has a message");
  OperatorsOptions search;
  search.threads = 1;
  search.work_limit = kWorkLimit;
  const Result<OperatorsResult> result = solve_operators(*problem, search);
  expect(result.ok(), "an instance that was read can be solved");
  if (has_choice(*result)) expect_sound(*problem, *result);
  expect_optimal(*problem, *result);
  const std::string answer =
      written_by([&](const TextSink& sink) { write_solution(*problem, *result, 0, sink); });
  expect(nlohmann::json::accept(answer), "an answer is JSON");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const std::string_view text = fuzz::text_of(data, size);
  CostInstanceOptions options;
  fuzz::solve(text, options);
  if (size % 4 == 0) {
    options.budget = static_cast<std::int64_t>(size) * 1000;
    options.unmerged = size % 8 == 0;
    fuzz::solve(text, options);
  }
  return fuzz::kDone;
}
