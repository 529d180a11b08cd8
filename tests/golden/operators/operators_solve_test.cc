// The solver on recorded instances: ColossalAI's with and without budgets, and XLA's.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/operators/solve.h"

namespace shardwright::operators_solve_test {

using namespace shardwright;
using operators::OperatorProblem;
using operators::SolveStatus;
using Json = nlohmann::json;

namespace {

std::string text_of(const std::string& name) {
  Result<std::string> text = read_file("tests/golden/operators/" + name + ".json.gz");
  REQUIRE(text.ok());
  return std::move(text).value();
}

OperatorsResult solved(const std::string& text, const CostInstanceOptions& options, int threads) {
  Result<OperatorProblem> problem = read_cost_instance(text, options);
  if (!problem.ok()) FAIL(problem.error().to_string());
  OperatorsOptions solve_options;
  solve_options.threads = threads;
  Result<OperatorsResult> result = solve_operators(*problem, solve_options);
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

}  // namespace

TEST_CASE("golden operators: every instance of ColossalAI is solved to its proved optimum") {
  int infeasible = 0;
  for (const char* name : {"colossal_mlp_2x2", "colossal_mlp_2x4", "colossal_gpt2_mlp_2x2",
                           "colossal_gpt2_attn_2x2", "colossal_resnet50_2x2"}) {
    const std::string text = text_of(name);
    const Json answer = Json::parse(text);
    for (const Json& solution : answer["solutions"]) {
      CostInstanceOptions options;
      const double budget = solution["memory_budget"];
      if (budget > 0) options.budget = static_cast<std::int64_t>(budget);
      INFO(name, ", budget ", budget);
      const OperatorsResult result = solved(text, options, 1);
      if (!solution.contains("objective") || solution["objective"].is_null()) {
        CHECK(result.status == SolveStatus::kInfeasible);
        ++infeasible;
        continue;
      }
      const double objective = solution["objective"];
      CHECK(result.status == SolveStatus::kOptimal);
      CHECK(std::abs(result.objective - objective) <= 1e-9 * objective);
      if (budget > 0) CHECK(static_cast<double>(result.peak_bytes) <= budget);
      CHECK(solved(text, options, 2).choice == result.choice);
    }
  }
  CHECK(infeasible >= 2);
}

TEST_CASE(
    "golden operators: every budget is solved to a proved optimum, and a smaller one is never "
    "better") {
  for (const bool unmerged : {false, true}) {
    const std::string text = text_of("colossal_resnet50_2x2");
    double before = 0;
    for (std::int64_t budget = 414'000'000; budget >= 398'000'000; budget -= 500'000) {
      INFO("unmerged ", unmerged, ", budget ", budget);
      CostInstanceOptions options;
      options.unmerged = unmerged;
      options.budget = budget;
      const OperatorsResult result = solved(text, options, 1);
      REQUIRE(result.status == SolveStatus::kOptimal);
      CHECK(result.peak_bytes <= budget);
      CHECK(result.objective >= before * (1 - 1e-12));
      before = result.objective;
      // A budget of exactly the used bytes gives the same optimum.
      options.budget = result.peak_bytes;
      CHECK(std::abs(solved(text, options, 1).objective - before) <= 1e-9 * before);
    }
    CostInstanceOptions options;
    options.unmerged = unmerged;
    options.budget = 397'000'000;
    CHECK(solved(text, options, 1).status == SolveStatus::kInfeasible);
  }
}

TEST_CASE("golden operators: XLA's cases are solved to their optima") {
  const Json cases = Json::parse(text_of("xla_ilp_cases"));
  for (const Json& one : cases["solve"]) {
    INFO(one["name"].get<std::string>());
    const OperatorsResult result = solved(one["request"].dump(), {}, 1);
    const Json& expected = one["expected"];
    if (expected.value("infeasible", false)) {
      CHECK(result.status == SolveStatus::kInfeasible);
      continue;
    }
    CHECK(result.status == SolveStatus::kOptimal);
    CHECK(result.objective == expected["objective"].get<double>());
    if (expected.contains("s")) CHECK(Json(result.choice) == expected["s"]);
  }
}

}  // namespace shardwright::operators_solve_test
