// Explanations of problems whose planning is cut short.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain.h"
#include "runtime/io/embedding/problem_json.h"

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
  // Data-parallel tables may have the dense kernel only, so no option remains.
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

TEST_CASE("explain: a stop leaves out the tables that were not reached") {
  const auto problem = problem_of(R"({"tables": [{"name": "t", "num_embeddings": 1000,
    "embedding_dim": 16}], "topology": {"world_size": 2}})");
  PlanEntry entry;
  entry.table = "t";
  entry.sharding_type = embedding::ShardingType::kTableWise;
  entry.compute_kernel = embedding::ComputeKernel::kFused;
  entry.ranks = {0};
  const std::vector<PlanEntry> entries{entry};
  ExplainOptions options;
  const auto whole = explain_embedding(problem, entries, options);
  REQUIRE(whole.ok());
  CHECK(whole->tables.size() == 1);
  CHECK(whole->tables_left_out == 0);
  std::stop_source stop;
  stop.request_stop();
  options.plan.stop = stop.get_token();
  const auto stopped = explain_embedding(problem, entries, options);
  REQUIRE(stopped.ok());
  CHECK(stopped->tables.empty());
  CHECK(stopped->tables_left_out == 1);
}

}  // namespace
}  // namespace shardwright::explain_test
