// Cost instances of ColossalAI and XLA: reading them, and the costs of the recorded choices.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/operators/instance/sharding_request.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/instance_json.h"
#include "tests/support/operators/naive_cost_solver.h"
#include "tests/support/operators/request_evaluation.h"

namespace shardwright::operators_instances_test {

using namespace shardwright::operators;
using Json = nlohmann::json;
using shardwright::CostInstanceOptions;
using shardwright::read_cost_instance;
using shardwright::read_file;
using shardwright::read_sharding_request;
using shardwright::Result;
using shardwright::test_support::solve_naively;

namespace {

std::string text_of(const std::string& name) {
  const Result<std::string> text = read_file("tests/golden/operators/" + name + ".json.gz");
  REQUIRE(text.ok());
  return *text;
}

OperatorProblem problem_of(const std::string& text, const CostInstanceOptions& options = {}) {
  Result<OperatorProblem> problem = read_cost_instance(text, options);
  if (!problem.ok()) FAIL(problem.error().to_string());
  return std::move(problem).value();
}

ShardingRequest request_of(const Json& json) {
  Result<ShardingRequest> request = read_sharding_request(json.dump());
  if (!request.ok()) FAIL(request.error().to_string());
  return std::move(request).value();
}

// Returns the strategy of every variable. Checks that the operators of a variable agree.
std::vector<std::uint32_t> variable_choice(const LoweredInstance& lowered,
                                           const std::vector<std::uint32_t>& choice) {
  std::vector<std::uint32_t> variables(lowered.instance().num_nodes(), 0);
  for (std::size_t n = 0; n < choice.size(); ++n)
    variables[lowered.variables()[n]] = choice[n];
  CHECK(lowered.operator_choice(variables) == choice);
  return variables;
}

const Json& xla_cases() {
  static const Json cases = Json::parse(text_of("xla_ilp_cases"));
  return cases;
}

const Json& solve_case(const std::string& name) {
  for (const Json& one : xla_cases()["solve"]) {
    if (one["name"] == name) return one;
  }
  FAIL("no such case: " << name);
  return xla_cases();
}

void check_breakdown(const CostBreakdown& cost, const Json& expected) {
  CHECK(cost.computation == expected["computation"]);
  CHECK(cost.communication == expected["communication"]);
  CHECK(cost.resharding == expected["resharding"]);
  CHECK(cost.overbudget == expected["overbudget"]);
}

}  // namespace

TEST_CASE(
    "golden operators: ColossalAI's choices have the recorded objectives and keep the budgets") {
  // CBC sums in another order, so the last digits may differ.
  constexpr double kRelative = 1e-9;
  std::size_t solutions = 0;
  for (const char* name : {"colossal_mlp_2x2", "colossal_mlp_2x4", "colossal_gpt2_mlp_2x2",
                           "colossal_gpt2_attn_2x2", "colossal_resnet50_2x2"}) {
    CAPTURE(name);
    const std::string text = text_of(name);
    const Json golden = Json::parse(text);
    for (const Json& solution : golden["solutions"]) {
      if (!solution.contains("objective") || solution["objective"].is_null()) continue;
      const double budget = solution["memory_budget"];
      CAPTURE(budget);
      CostInstanceOptions options;
      if (budget > 0) options.budget = static_cast<std::int64_t>(budget);
      const OperatorProblem problem = problem_of(text, options);
      const auto choice = solution["choice"].get<std::vector<std::uint32_t>>();
      const double objective = solution["objective"];
      const auto variables = variable_choice(problem.lowered, choice);
      const CostEvaluation solved = evaluate(problem.lowered.instance(), variables);
      const CostEvaluation given = evaluate(problem.lowered.graph(), choice);
      CHECK(std::abs(solved.total() - objective) <= kRelative * objective);
      CHECK(std::abs(given.total() - objective) <= kRelative * objective);
      CHECK(solved.feasible());
      CHECK(solved.peak_bytes == given.peak_bytes);
      for (std::size_t n = 0; n < choice.size(); ++n)
        CHECK(problem.strategy_names[n][choice[n]] == solution["names"][n]);
      ++solutions;
    }
  }
  CHECK(solutions == 15);
}

TEST_CASE(
    "golden operators: budgets that ColossalAI calls infeasible are below the use of every "
    "recorded optimum") {
  const std::string text = text_of("colossal_mlp_2x2");
  CostInstanceOptions options;
  options.budget = 230000;
  const OperatorProblem problem = problem_of(text, options);
  const Json golden = Json::parse(text);
  const auto choice = golden["solutions"][0]["choice"].get<std::vector<std::uint32_t>>();
  const auto variables = variable_choice(problem.lowered, choice);
  CHECK_FALSE(evaluate(problem.lowered.instance(), variables).feasible());
}

TEST_CASE("golden operators: followers and aliases share variables, and unmerged graphs do not") {
  const std::string text = text_of("colossal_resnet50_2x2");
  const OperatorProblem merged = problem_of(text);
  CHECK(merged.lowered.graph().num_nodes() == 180);
  CHECK(merged.lowered.graph().num_strategies() == 2356);
  CHECK(merged.lowered.graph().edges().size() == 145);
  // Three of the ten aliases also follow.
  CHECK(merged.lowered.instance().num_nodes() == 180 - 50 - 7);
  CostInstanceOptions options;
  options.unmerged = true;
  const OperatorProblem unmerged = problem_of(text, options);
  CHECK(unmerged.lowered.graph().edges().size() == 195);
  CHECK(unmerged.lowered.instance().num_nodes() == 180);
}

TEST_CASE("golden operators: XLA's requests lower to instances with XLA's optima") {
  std::size_t cases = 0;
  for (const Json& one : xla_cases()["solve"]) {
    CAPTURE(one["name"].get<std::string>());
    ++cases;
    const OperatorProblem problem = problem_of(one.dump());
    if (problem.soft_budget || problem.max_cost) continue;
    const auto solution = solve_naively(problem.lowered.instance());
    REQUIRE(solution.has_value());
    const Json& expected = one["expected"];
    CHECK(solution->cost == expected["objective"]);
    CHECK(solution->num_optima == expected["num_optima"]);
    const auto choice = problem.lowered.operator_choice(solution->choice);
    if (expected.contains("s")) CHECK(Json(choice) == expected["s"]);
    const ShardingRequest request = request_of(one["request"]);
    const RequestEvaluation evaluation = evaluate(request, choice);
    CHECK(evaluation.violations.empty());
    CHECK(evaluation.cost.total() == expected["objective"]);
    if (expected.contains("e")) CHECK(Json(evaluation.edge_strategies) == expected["e"]);
  }
  CHECK(cases == 9);
}

TEST_CASE("golden operators: the problem keeps XLA's soft budget and maximum cost") {
  const OperatorProblem soft = problem_of(solve_case("SolvesOverbudget").dump());
  REQUIRE(soft.soft_budget.has_value());
  CHECK(soft.soft_budget->bytes == 100000);
  CHECK(soft.soft_budget->cost_per_byte == 10);
  const Json& over = solve_case("SolvesOverbudget");
  const RequestEvaluation evaluation = evaluate(
      request_of(over["request"]), over["expected"]["s"].get<std::vector<std::uint32_t>>());
  CHECK(evaluation.cost.total() == 9007650);
  CHECK(problem_of(solve_case("HonorsMaxCost").dump()).max_cost == 7600);
}

TEST_CASE("golden operators: given choices evaluate as in XLA") {
  std::size_t cases = 0;
  for (const Json& one : xla_cases()["evaluate"]) {
    CAPTURE(one["name"].get<std::string>());
    Json json = solve_case("SolvesOptimally")["request"];
    json.update(one["overrides"]);
    const auto choice = one["s"].get<std::vector<std::uint32_t>>();
    const RequestEvaluation evaluation = evaluate(request_of(json), choice);
    const Json& expected = one["evaluation"];
    std::vector<std::string> violations;
    for (const RequestViolation violation : evaluation.violations)
      violations.emplace_back(name_of(violation));
    CHECK(Json(violations) == expected["violations"]);
    check_breakdown(evaluation.cost, expected);
    check_breakdown(evaluation.lower_bound, expected["lower_bound"]);
    CHECK(evaluation.cost.total() == expected["total"]);
    CHECK(evaluation.departures == expected["departures"]);
    CHECK(evaluation.peak_bytes == expected["peak"]);
    CHECK(Json(evaluation.edge_strategies) == expected["e"]);
    ++cases;
  }
  CHECK(cases == 6);
}

TEST_CASE("golden operators: infinite costs are a violation, in nodes and in edges") {
  Json json = solve_case("SolvesOptimally")["request"];
  const std::vector<std::uint32_t> choice{3, 1, 2, 2, 1};
  json["c"][0][3] = 1e20;
  CHECK(evaluate(request_of(json), choice).violations ==
        std::vector<RequestViolation>{RequestViolation::kInfiniteCost});
  json["c"][0][3] = 13;
  json["r"][0][14] = 1e20;
  CHECK(evaluate(request_of(json), choice).violations ==
        std::vector<RequestViolation>{RequestViolation::kInfiniteCost});
  json["r"][0][14] = 4200;
  CHECK(evaluate(request_of(json), choice).violations.empty());
}

TEST_CASE("golden operators: XLA's rationale for a worse choice") {
  const Json& rationale = xla_cases()["rationalize"];
  const ShardingRequest request = request_of(solve_case("SolvesOptimally")["request"]);
  const auto better = rationale["result"].get<std::vector<std::uint32_t>>();
  const auto worse = rationale["subopt"].get<std::vector<std::uint32_t>>();
  CHECK(Json(rationalize(request, better, worse)) == rationale["lines"]);
  CHECK(rationalize(request, better, better).empty());
}

TEST_CASE("golden operators: XLA's scaling divides by the same factor and rounds down") {
  Json json = solve_case("SolvesOptimally")["request"];
  json["c"][0] = {1.1e7, 1e20, 999999, 2e6};
  json["r"][1][0] = 1e13;
  const double limit = xla_cases()["scale"]["coeff_limit"];
  const ShardingRequest scaled = scale(request_of(json), limit);
  CHECK(scaled.computation[0] == std::vector<double>{11, 1e20, 0, 2});
  CHECK(scaled.resharding[1][0] == 1e7);
  const ShardingRequest same = scale(request_of(solve_case("SolvesOptimally")["request"]), limit);
  CHECK(same.resharding[1][0] == 5000);
}

}  // namespace shardwright::operators_instances_test
