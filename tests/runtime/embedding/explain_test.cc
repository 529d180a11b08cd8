// Explaining problems whose planning is cut short.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <utility>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain/explain.h"
#include "runtime/io/embedding/problem/problem_json.h"

namespace shardwright::explain_test {
namespace {

using namespace shardwright;

std::shared_ptr<const embedding::Problem> problem_of(const char* json) {
  auto spec = read_problem(json);
  REQUIRE(spec.ok());
  auto problem = embedding::Problem::make(std::move(spec).value());
  REQUIRE(problem.ok());
  return std::make_shared<const embedding::Problem>(std::move(problem).value());
}

TEST_CASE("explain: a table without options is an error, however soon planning is stopped") {
  // Data parallel tables have the dense kernel only.
  const auto problem = problem_of(R"({"tables": [{"name": "t", "num_embeddings": 1000,
    "embedding_dim": 16}], "topology": {"world_size": 2}, "constraints": {"t": {
    "sharding_types": ["data_parallel"], "compute_kernels": ["fused"]}}})");
  for (const PlanMode mode : {PlanMode::kBest, PlanMode::kCompat}) {
    for (const std::optional<double> limit : {std::optional<double>(), std::optional<double>(0)}) {
      ExplainOptions options;
      options.plan.mode = mode;
      options.plan.time_limit_s = limit;
      const auto explanation = explain_embedding(problem, std::nullopt, options);
      REQUIRE_FALSE(explanation.ok());
      CHECK(explanation.error().code == ErrorCode::kInvalidInput);
    }
  }
}

}  // namespace
}  // namespace shardwright::explain_test
