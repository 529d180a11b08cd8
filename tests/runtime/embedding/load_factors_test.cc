// Caches whose size best mode chooses, from the problem file to the plan and back through verify.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/load_factors.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "tests/support/embedding/planned_files.h"

namespace shardwright::load_factors_test {

namespace {

using namespace shardwright;
using embedding::Problem;
using nlohmann::json;
using test_support::brief;
using test_support::file_of;
using test_support::planned;
using test_support::problem_of;
using test_support::violation;

// Three cached tables on two ranks. With load factor 0.1, the caches leave most of the memory free.
json problem_text(const json& load_factors) {
  json problem = {{"reservation", {{"type", "none"}}},
                  {"topology", {{"world_size", 2}, {"hbm_cap", 30'000'000}}}};
  for (const char* name : {"a", "b", "c"}) {
    problem["tables"].push_back(
        {{"name", name}, {"num_embeddings", 100'000}, {"embedding_dim", 64}});
    json& constraints = problem["constraints"][name];
    constraints = {{"compute_kernels", {"fused_uvm_caching"}},
                   {"sharding_types", {"table_wise", "row_wise"}},
                   {"cache_params", {{"load_factor", 0.1}}}};
    if (!load_factors.is_null()) constraints["cache_params"]["load_factors"] = load_factors;
  }
  return problem;
}

std::string place_of_error(const json& load_factors) {
  const auto spec = read_problem(problem_text(load_factors).dump());
  if (!spec.ok()) return spec.error().where;
  const auto made = Problem::make(*spec);
  return made.ok() ? "" : made.error().where;
}

}  // namespace

TEST_CASE("load factors: larger caches make a better plan, which verify accepts with its proof") {
  const auto fixed = problem_of(problem_text(nullptr));
  const auto free = problem_of(problem_text("ladder"));
  const EmbeddingPlanResult before = planned(fixed);
  const EmbeddingPlanResult after = planned(free);
  REQUIRE(after.plan.has_value());
  CHECK(*after.best_rating < *before.best_rating / 2);
  REQUIRE(after.certificate.has_value());
  CHECK(after.certificate->load_factors.size() == 3);
  CHECK(*after.lower_bound <= *after.best_rating);
  const json file = file_of(after);
  CHECK(violation(free, file) == "");
  // A proof over other load factors does not hold for this problem.
  CHECK(violation(problem_of(problem_text({0.5, 0.75})), file) != "");
  json changed = file;
  changed["certificate"]["load_factors"][1][1].erase(3);
  CHECK(violation(free, changed) == "/certificate");
  changed["certificate"].erase("load_factors");
  CHECK(violation(free, changed) == "/certificate");
  changed = file;
  changed["certificate"]["load_factors"][1] = 5;
  CHECK(violation(free, changed) == "/certificate/load_factors/1");
}

TEST_CASE("load factors: a list of one is all that best mode may choose beside the table's own") {
  const auto problem = problem_of(problem_text({0.4}));
  const EmbeddingPlanResult result = planned(problem);
  REQUIRE(result.plan.has_value());
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    const embedding::ShardingOption& option = *(*result.plan)[i].option;
    CHECK(option.compute_kernel == embedding::ComputeKernel::kFusedUvmCaching);
    CHECK((option.load_factor == 0.4 || option.load_factor == 0.1));
  }
}

TEST_CASE("load factors: compat mode refuses a list, and does not see what best mode adds") {
  const auto listed = problem_of(problem_text("ladder"));
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  const auto refused = plan_embedding(listed, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().where == "/constraints/a/cache_params/load_factors");
  json scaled = problem_text(nullptr);
  for (json& constraints : scaled["constraints"]) {
    constraints["cache_params"]["stats"] = {{"cacheability", 0.3},
                                            {"expected_lookups", 5000},
                                            {"mrc_hist_counts", {5, 3, 1}},
                                            {"height", 100'000}};
  }
  scaled["proposers"] = {{{"type", "greedy"}}, {{"type", "scaleup"}}};
  const auto problem = problem_of(scaled);
  const EmbeddingPlanResult compat = planned(problem, brief(PlanMode::kCompat));
  const EmbeddingPlanResult best = planned(problem);
  CHECK(compat.search_space->size() == 6);
  CHECK(best.search_space->size() == 6 + 3 * 2 * 12);
  CHECK(*best.best_rating <= *compat.best_rating);
  CHECK(violation(problem, file_of(compat)) == "");
  CHECK(violation(problem, file_of(best)) == "");
}

TEST_CASE("load factors: a smaller cache may fit where the table's own does not") {
  const auto with_hbm = [](std::int64_t hbm, const json& load_factors) {
    json text = problem_text(load_factors);
    text["topology"]["hbm_cap"] = hbm;
    return problem_of(text);
  };
  CHECK_FALSE(planned(with_hbm(4'000'000, nullptr)).plan.has_value());
  const auto problem = with_hbm(4'000'000, "ladder");
  const EmbeddingPlanResult result = planned(problem);
  REQUIRE(result.plan.has_value());
  CHECK(violation(problem, file_of(result)) == "");
  // Compat mode's failure concerns the given load factor only. Best mode must prove it for all.
  const auto none = with_hbm(50'000, "ladder");
  const EmbeddingPlanResult nothing = planned(none);
  REQUIRE(nothing.failure.has_value());
  CHECK(nothing.failure->reason == FailureReason::kNoPlanExists);
  CHECK(violation(none, file_of(nothing)) == "");
}

TEST_CASE("load factors: replan and explain know the caches that best mode chose") {
  const auto problem = problem_of(problem_text("ladder"));
  const EmbeddingPlanResult first = planned(problem);
  const auto document = read_plan(file_of(first).dump());
  REQUIRE(document.ok());
  ReplanOptions options;
  options.plan.work_limit = 1'000'000;
  options.migration_weight = 1e6;
  const auto again = replan_embedding(problem, *document->plan, options);
  REQUIRE_MESSAGE(again.ok(), again.error().to_string());
  CHECK(plan_hash(*problem, *again->plan) == plan_hash(*problem, *first.plan));
  const auto explained = explain_embedding(problem, *document->plan, {}, nullptr);
  REQUIRE_MESSAGE(explained.ok(), explained.error().to_string());
  CHECK(explained->tables.front().options.size() >= 2 * embedding::kLoadFactorLadder.size());
}

TEST_CASE("load factors: what is not a list of them is refused with its place") {
  const std::string place = "/constraints/a/cache_params/load_factors";
  CHECK(place_of_error("ladder") == "");
  CHECK(place_of_error("steps") == place);
  CHECK(place_of_error(json::array()) == place);
  CHECK(place_of_error({0.5, "x"}) == place + "/1");
  CHECK(place_of_error({0.5, 1.5}) == place + "/1");
}

TEST_CASE("load factors: they are part of the problem's identity") {
  const auto hash = [](const json& load_factors) {
    return identify(*problem_of(problem_text(load_factors))).hash;
  };
  CHECK(hash({0.5, 0.25}) == hash({0.25, 0.5, 0.5}));
  CHECK(hash({0.5}) != hash(nullptr));
  CHECK(hash("ladder") != hash({0.5}));
  const std::vector<double> all(embedding::kLoadFactorLadder.begin(),
                                embedding::kLoadFactorLadder.end());
  CHECK(hash("ladder") == hash(all));
}

}  // namespace shardwright::load_factors_test
