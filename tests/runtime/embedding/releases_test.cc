// Differences between TorchRec's releases in problem files, plans and verification.
#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/embedding/planner.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "runtime/io/json/json_document.h"
#include "tests/support/embedding/planned_files.h"

namespace shardwright::releases_test {
namespace {

using namespace shardwright;
using namespace shardwright::test_support;
using nlohmann::json;

// Two tables on two hosts of two ranks.
json problem_text() {
  json problem = {{"reservation", {{"type", "none"}}},
                  {"batch_size", 64},
                  {"topology", {{"world_size", 4}, {"local_world_size", 2}, {"hbm_cap", 1 << 30}}}};
  for (const char* const name : {"a", "b"}) {
    problem["tables"].push_back(
        {{"name", name}, {"num_embeddings", 100'000}, {"embedding_dim", 64}});
  }
  return problem;
}

EmbeddingPlanResult planned(const json& text, PlanMode mode = PlanMode::kCompat) {
  return test_support::planned(problem_of(text), brief(mode, 5'000'000));
}

}  // namespace

TEST_CASE("releases: the newest is the default, and a file may name another") {
  json text = problem_text();
  CHECK(problem_of(text)->spec().torchrec == embedding::TorchRecRelease::k1_9_2);
  text["torchrec"] = "a48cef79";
  CHECK(problem_of(text)->spec().torchrec == embedding::TorchRecRelease::kA48cef79);
  CHECK(file_of(planned(text))["torchrec"] == "a48cef79");
  ProblemOverrides overrides;
  overrides.torchrec = embedding::TorchRecRelease::k1_9_2;
  CHECK(read_problem(text.dump(), overrides)->torchrec == embedding::TorchRecRelease::k1_9_2);
  text["torchrec"] = "1.9.3";
  CHECK(read_problem(text.dump()).error().where == "/torchrec");
}

TEST_CASE("releases: costs differ where pooling factors are below one") {
  json text = problem_text();
  text["tables"][0]["pooling_factor"] = text["tables"][1]["pooling_factor"] = 0.1;
  const double now = planned(text).best_rating.value();
  const json file = file_of(planned(text, PlanMode::kBest));
  text["torchrec"] = "a48cef79";
  CHECK(now < planned(text).best_rating.value());
  CHECK(file["problem_parts"]["torchrec"] != file_of(planned(text))["problem_parts"]["torchrec"]);
}

TEST_CASE("releases: the plan of a module whose tables are all another device's is refused") {
  json text = problem_text();
  text["tables"][1]["module"] = "other";
  text["constraints"]["b"] = {{"device_group", "cpu"}};
  const EmbeddingPlanResult refused = planned(text);
  CHECK_FALSE(refused.plan.has_value());
  REQUIRE(refused.failure.has_value());
  CHECK(refused.failure->type == FailureType::kMissingModuleInPlan);
  CHECK(refused.failure->reason == FailureReason::kMissingModule);
  CHECK(refused.num_plans > 0);
  CHECK(file_of(refused)["error"]["type"] == "missing_module_in_plan");
  text["torchrec"] = "a48cef79";
  CHECK(planned(text).plan.has_value());
}

TEST_CASE("releases: a cache of all rows is refused in the plan, not among the options") {
  json text = problem_text();
  text["constraints"]["a"] = {{"compute_kernels", {"fused_uvm_caching"}},
                              {"cache_params", {{"load_factor", 1.0}}}};
  CHECK(planned(text).failure->type == FailureType::kInvalidComputeKernel);
  text["constraints"]["a"]["cache_params"]["load_factor"] = 0.5;
  CHECK(planned(text).plan.has_value());
}

TEST_CASE("releases: columns of a table on SSD lie on distinct ranks") {
  json text = problem_text();
  text["tables"][0]["embedding_dim"] = 256;
  // Table b loads one rank, so that without the rule the others would take several columns.
  text["constraints"]["a"] = {{"sharding_types", {"column_wise"}},
                              {"compute_kernels", {"key_value"}},
                              {"min_partition", 64}};
  text["constraints"]["b"] = {{"sharding_types", {"table_wise"}}, {"pooling_factors", {4000}}};
  text["topology"]["ssd_mem_bw"] = 1e9;
  const auto ranks = [&] {
    const json plan = file_of(planned(text))["plan"];
    const json& own = plan[0]["table"] == "a" ? plan[0] : plan[1];
    return std::set<int>(own["ranks"].begin(), own["ranks"].end());
  };
  CHECK(ranks().size() == 4);
  text["torchrec"] = "a48cef79";
  CHECK(ranks().size() < 4);
  text["torchrec"] = "1.9.2";
  text["constraints"]["a"]["min_partition"] = 32;
  CHECK(planned(text).failure->type == FailureType::kStrictConstraints);
}

TEST_CASE("releases: SSD of 2 TiB is counted where a table may take it") {
  json text = problem_text();
  CHECK_FALSE(problem_of(text)->topology().counts_ssd());
  text["constraints"]["a"] = {{"compute_kernels", {"fused", "key_value"}}};
  CHECK(problem_of(text)->topology().storage()[3].ssd == Bytes(std::int64_t{2} << 40));
  text["torchrec"] = "a48cef79";
  CHECK_FALSE(problem_of(text)->topology().counts_ssd());
}

TEST_CASE("releases: equal loads in pods are told apart by physical host") {
  json text = problem_text();
  text["topology"]["pod_size"] = 2;
  text["constraints"] = {{"a", {{"sharding_types", {"table_wise"}}}},
                         {"b", {{"sharding_types", {"table_wise"}}}}};
  const auto second = [&] {
    const json plan = file_of(planned(text))["plan"];
    return plan[1]["ranks"][0].get<int>() + plan[0]["ranks"][0].get<int>();
  };
  CHECK(second() == 2);  // ranks 0 and 2: the first of each host
  text["torchrec"] = "a48cef79";
  CHECK(second() == 1);
}

TEST_CASE("releases: a search space tells the time of distributing inputs") {
  const auto problem = problem_of(problem_text());
  const auto space = enumerate_embedding(problem);
  REQUIRE(space.ok());
  std::string text;
  write_search_space(**space, ShardForm::kRuns, [&](std::string_view piece) { text += piece; });
  CHECK(json::parse(text)["search_space"][1]["shards"][0]["input_dist_comms"].get<double>() > 0);
  const auto read = read_search_space(text, problem);
  REQUIRE_MESSAGE(read.ok(), read.error().to_string());
  CHECK((*read)->options()[1].costs == (*space)->options()[1].costs);
}

TEST_CASE("releases: an estimator is configured in the problem file") {
  json text = problem_text();
  text["perf_estimator"] = {
      {"use_linear_regression_prefetch_estimate", true},
      {"config",
       {{"coefficients",
         {{"table_wise",
           {{"fwd", {{"lookup_size_multiplier", 2.0}}}, {"bwd", {{"hash_size_multiplier", 1.0}}}}},
          {"by_kernel",
           {{{"sharding_type", "row_wise"},
             {"compute_kernel", "fused"},
             {"fwd", {{"input_read_size_multiplier", 3.0}}}}}},
          {"prefetch", {{"expected_num_lookups_coefficient", 0.5}}},
          {"weighted_kernel_multiplier", 1.5}}},
        {"device_bw", 1e9},
        {"kernel_device_bandwidths", {{"fused_uvm", 2e9}}},
        {"supported_sharding_types", {"table_wise", "row_wise"}}}}};
  text["constraints"] = {{"a", {{"sharding_types", {"table_wise", "row_wise"}}}},
                         {"b", {{"sharding_types", {"row_wise"}}}}};
  const auto problem = problem_of(text);
  const embedding::HardwarePerfConfig& config = *problem->spec().perf_estimator.config;
  CHECK(config.coefficients(embedding::ShardingType::kTableWise, embedding::ComputeKernel::kFused)
            .bwd->hash_size == 1);
  CHECK(config.by_kernel.front().coefficients.fwd.input_read_size == 3);
  CHECK(config.prefetch->expected_num_lookups == 0.5);
  CHECK(config.kernel_device_bandwidths.front().second == 2e9);
  CHECK(planned(text).plan.has_value());
  text["perf_estimator"]["config"]["coefficients"]["table_wise"]["fwd"]["lookup_size_multiplier"] =
      -1;
  CHECK_FALSE(read_problem(text.dump()).ok());
}

}  // namespace shardwright::releases_test
