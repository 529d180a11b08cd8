// Best mode with the default work on random problems, compared with a MILP solver.
// perf/vs_highs/compare recorded the optima; most were proved within seconds.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluate.h"
#include "runtime/embedding/planner.h"
#include "tests/support/embedding/checks/golden_bounds.h"

namespace shardwright::embedding_random_golden_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// The recorded optimum is the rating of a plan, but summed in another order.
constexpr double kSummation = 1e-12;
// Tolerance of the optimum: `record` keeps only rows that HiGHS solved this exactly.
constexpr double kSolver = 1e-7;
// Tolerance for equal ratings.
constexpr double kClose = 1e-6;

// Plans the problem. Checks that the plan is valid and that the certificate proves the bound.
EmbeddingPlanResult planned(const nlohmann::json& row, const PlanOptions& options = {}) {
  const auto problem = std::make_shared<const Problem>(
      require(Problem::make(require(read_problem(row["problem"].dump())))));
  EmbeddingPlanResult result = require(plan_embedding(problem, options));
  REQUIRE(result.plan.has_value());
  const Topology& available = result.reservation->topology;
  const Evaluation evaluation = evaluate(*problem, available, *result.plan);
  CHECK(evaluation.valid());
  CHECK(evaluation.rating == *result.best_rating);
  REQUIRE(result.lower_bound.has_value());
  REQUIRE(result.certificate.has_value());
  CHECK(check_bound(*result.search_space, available, *result.certificate).value_or("") == "");
  return result;
}

}  // namespace

TEST_CASE("random golden: all that a MILP solver proves is proved with the default work") {
  const nlohmann::json rows =
      nlohmann::json::parse(require(read_file("tests/golden/embedding/random_milp.json.gz")));
  for (const nlohmann::json& row : rows) {
    CAPTURE(row["seed"].get<int>());
    const auto optimum = row["optimum"].get<double>();
    const EmbeddingPlanResult result = planned(row);
    CHECK(*result.best_rating >= optimum * (1 - kSolver));
    CHECK(*result.lower_bound <= optimum * (1 + kSummation));
    CHECK(*result.best_rating <= optimum * (1 + kClose));
    CHECK(gap(*result.best_rating, *result.lower_bound) <= kProvenGap);
  }
  CHECK(rows.size() > 40);
}

// Seed 441 of perf/vs_highs/compare: HiGHS finds a good plan, but proves nothing in a minute. One
// table has shards of 59 ms and more, or takes 63% of the memory of every rank, which all other
// tables must leave free.
TEST_CASE("random golden: a table that all others must make room for is found its place") {
  const nlohmann::json rows =
      nlohmann::json::parse(require(read_file("tests/golden/embedding/full_memory.json.gz")));
  REQUIRE(rows.size() == 1);
  const auto highs = rows[0]["highs"].get<double>();
  const EmbeddingPlanResult result = planned(rows[0]);
  CHECK(*result.best_rating <= 1.01 * highs);
  CHECK(*result.lower_bound <= highs * (1 + kSummation));
}

}  // namespace shardwright::embedding_random_golden_test
