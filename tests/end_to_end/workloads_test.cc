// Table lists of real and realistic models on the topologies suggested for them: each gets a plan
// that the verifier accepts, or a precise reason.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"

namespace shardwright::workloads_test {

namespace {

using namespace shardwright;
using nlohmann::json;

// In placed shards. It limits the largest workloads to a fraction of a second each.
constexpr std::uint64_t kWorkLimit = 600'000'000;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

std::vector<std::filesystem::path> workloads() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/workloads")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

ProblemOverrides overrides_of(const json& topology) {
  ProblemOverrides overrides;
  overrides.ranks = topology["world_size"].get<std::int64_t>();
  overrides.ranks_per_host = topology["local_world_size"].get<std::int64_t>();
  overrides.hbm_bytes = static_cast<std::int64_t>(topology["hbm_gib"].get<double>() * kGibibyte);
  if (topology.contains("batch_per_gpu")) {
    overrides.batch_size = topology["batch_per_gpu"].get<std::int64_t>();
  } else if (topology.contains("global_batch")) {
    overrides.batch_size = topology["global_batch"].get<std::int64_t>() / *overrides.ranks;
  }
  return overrides;
}

void check_plan(const EmbeddingPlanResult& result) {
  REQUIRE(result.best_rating.has_value());
  CHECK(result.evaluation.valid());
  CHECK(result.evaluation.rating == *result.best_rating);
}

void check_reason(const EmbeddingPlanResult& result, const embedding::Problem& problem) {
  REQUIRE(result.failure.has_value());
  CHECK((result.failure->type == FailureType::kInsufficientStorage ||
         result.failure->type == FailureType::kStrictConstraints));
  CHECK(result.failure->message.find("bytes") != std::string::npos);
  if (result.failure->reason == FailureReason::kTableFitsNowhere) {
    const auto& tables = problem.tables();
    CHECK(std::any_of(tables.begin(), tables.end(), [&](const embedding::Table& table) {
      return result.failure->message.find("\"" + table.name + "\"") != std::string::npos;
    }));
  }
}

}  // namespace

TEST_CASE("workloads: every suggested topology gets a valid plan or a precise reason") {
  const auto files = workloads();
  REQUIRE(files.size() >= 45);
  int planned = 0;
  for (const auto& file : files) {
    const std::string text = require(read_file(file.string()));
    const json workload = json::parse(text);
    for (const json& topology : workload["meta"]["topologies"]) {
      INFO(file.filename().string(), " ", topology.dump());
      const auto problem = std::make_shared<const embedding::Problem>(
          require(embedding::Problem::make(require(read_problem(text, overrides_of(topology))))));
      PlanOptions options;
      options.mode = PlanMode::kCompat;
      options.work_limit = kWorkLimit;
      const EmbeddingPlanResult result = require(plan_embedding(problem, options));
      if (result.plan) {
        ++planned;
        check_plan(result);
      } else if (result.stopped_by == StopReason::kFinished) {
        check_reason(result, *problem);
      } else {
        // Only the largest workloads may use up their work before the first plan.
        CHECK(problem->topology().world_size() >= 1024);
      }
    }
  }
  CHECK(planned >= 60);
}

}  // namespace shardwright::workloads_test
