// Tables on SSD: problem files, plans, proofs and explanations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/sweep.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/report/embedding/plan_text.h"
#include "tests/support/embedding/every_plan.h"
#include "tests/support/embedding/planned_files.h"

namespace shardwright::ssd_test {

namespace {

using namespace shardwright;
using embedding::MemoryTier;
using embedding::OptionCost;
using embedding::Plan;
using embedding::Problem;
using embedding::Remedy;
using embedding::Storage;
using nlohmann::json;
using test_support::brief;
using test_support::file_of;
using test_support::planned;
using test_support::problem_of;
using test_support::violation;

constexpr std::int64_t kHbm = 60'000'000;
constexpr std::int64_t kSsd = 30'000'000;
// Bytes of 100,000 rows of 64 floats, and 7.2 bytes per row for the state of the cache.
constexpr std::int64_t kTableOnSsd = 100'000 * 64 * 4 + 720'000;

// `tables` tables on two ranks. A rank has room for two in HBM and one on SSD.
json problem_text(std::size_t tables, const json& ssd_cap,
                  const json& kernels = {"fused", "key_value"}) {
  json problem = {{"reservation", {{"type", "none"}}},
                  {"batch_size", 64},
                  {"topology", {{"world_size", 2}, {"hbm_cap", kHbm}}}};
  if (!ssd_cap.is_null()) problem["topology"]["ssd_cap"] = ssd_cap;
  for (std::size_t i = 0; i < tables; ++i) {
    const std::string name = "t" + std::to_string(i);
    problem["tables"].push_back({{"name", name},
                                 {"num_embeddings", 100'000},
                                 {"embedding_dim", 64},
                                 {"pooling_factor", 1 + i}});
    problem["constraints"][name] = {{"compute_kernels", kernels},
                                    {"sharding_types", {"table_wise"}}};
  }
  return problem;
}

// Returns the least rating of all plans.
std::optional<double> least_rating(const EmbeddingPlanResult& result) {
  std::optional<double> least;
  test_support::EveryPlan every(result.search_space, [&](const Plan& plan) {
    const auto rated = evaluate(result.search_space->problem(), result.reservation->topology, plan);
    if (rated.valid() && (!least || rated.rating < *least)) least = rated.rating;
    return false;
  });
  every.run();
  return least;
}

}  // namespace

TEST_CASE("ssd: best mode proves the optimum where HBM and SSD are both tight") {
  const auto problem = problem_of(problem_text(6, kSsd));
  const EmbeddingPlanResult result = planned(problem);
  REQUIRE(result.plan.has_value());
  CHECK(*result.best_rating == doctest::Approx(least_rating(result).value()).epsilon(1e-9));
  CHECK(*result.lower_bound >= *result.best_rating * (1 - kProvenGap));
  const json file = file_of(result);
  CHECK(file["proven_optimal"] == true);
  CHECK(file["plan_ssd_by_rank"] == json({kTableOnSsd, kTableOnSsd}));
  CHECK(file["reserved_topology"]["uniform"][2] == kSsd);
  CHECK(violation(problem, file) == "");
  const EmbeddingPlanResult compat = planned(problem, brief(PlanMode::kCompat));
  REQUIRE(compat.plan.has_value());
  CHECK(compat.evaluation.valid());
  CHECK(*result.best_rating <= *compat.best_rating);
}

TEST_CASE("ssd: verify refuses false claims about SSD") {
  const auto problem = problem_of(problem_text(6, kSsd));
  const json file = file_of(planned(problem));
  const auto changed = [&](const char* place, const json& value) {
    json copy = file;
    copy[json::json_pointer(place)] = value;
    return violation(problem, copy);
  };
  CHECK(changed("/plan_ssd_by_rank/1", 5) == "/plan_ssd_by_rank/1");
  CHECK(changed("/reserved_topology/uniform/2", 5) == "/reserved_topology/uniform/2");
  CHECK(changed("/plan/0/ssd", 5) == "/plan/0/ssd");
  CHECK(changed("/plan_memory_parts_by_rank/0/free/2", 5) == "/plan_memory_parts_by_rank/0/free/2");
  // The plan does not fit on ranks with less SSD.
  CHECK(violation(problem_of(problem_text(6, kSsd / 2)), file) != "");
}

TEST_CASE("ssd: too little of it is proved by a certificate, which forged prices do not replace") {
  const auto problem = problem_of(problem_text(3, kSsd, {"key_value"}));
  const EmbeddingPlanResult result = planned(problem);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->proof == AbsenceProof::kCertificate);
  CHECK(result.failure->message.find(" SSD short") != std::string::npos);
  const json file = file_of(result);
  CHECK(violation(problem, file) == "");
  REQUIRE(file["certificate"]["nodes"].size() == 1);
  CHECK(file["certificate"]["nodes"][0]["prices"][0][3].get<double>() > 0);
  // If there is enough SSD, no price can prove that no plan exists.
  const auto enough = problem_of(problem_text(3, 3 * kSsd, {"key_value"}));
  for (const double price : {0.0, 1e-9, 1.0, 1e9, -1.0}) {
    json forged = file;
    forged["certificate"]["nodes"][0]["prices"][0][3] = price;
    CHECK(violation(enough, forged) != "");
    if (price <= 0) CHECK(violation(problem, forged) == "/certificate");
  }
}

TEST_CASE("ssd: explain names what SSD lacks, and how much more would do") {
  const auto problem = problem_of(problem_text(3, kSsd, {"key_value"}));
  const auto none = explain_embedding(problem, std::nullopt, {brief(), std::nullopt});
  REQUIRE_MESSAGE(none.ok(), none.error().to_string());
  REQUIRE(none->infeasibility.has_value());
  CHECK(none->infeasibility->proved);
  CHECK(none->infeasibility->message.find(" SSD over all ranks") != std::string::npos);
  const auto& remedies = none->infeasibility->remedies;
  const auto more = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kSsd;
  });
  REQUIRE(more != remedies.end());
  CHECK(more->less_is_impossible);
  const auto bytes = static_cast<std::int64_t>(more->to);
  CHECK(planned(problem_of(problem_text(3, bytes, {"key_value"}))).plan.has_value());
  CHECK_FALSE(planned(problem_of(problem_text(3, bytes - kMebibyte, {"key_value"}))).plan);

  const auto full = problem_of(problem_text(6, kSsd));
  const auto some = explain_embedding(full, std::nullopt, {brief(), std::nullopt});
  REQUIRE_MESSAGE(some.ok(), some.error().to_string());
  std::size_t lacking = 0;
  for (const TableExplanation& table : some->tables) {
    for (const OptionCost& cost : table.options)
      lacking += cost.lack && cost.lack->tier == MemoryTier::kSsd ? 1U : 0U;
  }
  CHECK(lacking == 4);  // the tables in HBM, if they were on SSD
}

TEST_CASE("ssd: a problem without it is what it was, and 0 bytes exclude the kernel") {
  json without = problem_text(6, nullptr);
  without["torchrec"] = "a48cef79";
  const auto uncounted = problem_of(without);
  const EmbeddingPlanResult before = planned(uncounted);
  REQUIRE(before.plan.has_value());
  const json file = file_of(before);
  CHECK_FALSE(file.contains("plan_ssd_by_rank"));
  CHECK(file["reserved_topology"]["uniform"].size() == 2);
  CHECK_FALSE(file["plan"][0].contains("ssd"));
  TextReportOptions text;
  CHECK(text_report(*uncounted, before, text).find("SSD") == std::string::npos);
  const auto counted = problem_of(problem_text(6, kSsd));
  CHECK(identify(*uncounted, nullptr).hash != identify(*counted, nullptr).hash);
  CHECK(text_report(*counted, planned(counted), text).find("SSD") != std::string::npos);
  // With 0 bytes of SSD, no option uses SSD, so all tables are in HBM or do not fit.
  const auto empty = problem_of(problem_text(4, 0));
  const EmbeddingPlanResult in_hbm = planned(empty);
  REQUIRE(in_hbm.plan.has_value());
  CHECK(in_hbm.search_space->size() == 4);
  CHECK_FALSE(planned(problem_of(problem_text(5, 0))).plan.has_value());
}

TEST_CASE("ssd: replan and sweep keep to it") {
  const auto problem = problem_of(problem_text(6, kSsd));
  const json file = file_of(planned(problem));
  json smaller = problem_text(6, nullptr);
  smaller["topology"]["custom"] = {{"ssd_cap", {0, 2 * kSsd}}};
  const auto changed = problem_of(smaller);
  const auto document = read_plan(file.dump());
  REQUIRE(document.ok());
  const auto replanned = replan_embedding(changed, *document->plan, {brief(), 0.5, {}});
  REQUIRE_MESSAGE(replanned.ok(), replanned.error().to_string());
  REQUIRE(replanned->plan.has_value());
  CHECK(replanned->evaluation.valid());
  CHECK(replanned->evaluation.storage_by_rank[0].ssd == Bytes(0));
  CHECK(replanned->evaluation.storage_by_rank[1].ssd == Bytes(2 * kTableOnSsd));

  embedding::SweepGrid grid;
  grid.hbm_bytes = {kHbm, 2 * kHbm};
  const auto sweep = sweep_embedding(problem->spec(), grid, brief());
  REQUIRE_MESSAGE(sweep.ok(), sweep.error().to_string());
  REQUIRE(sweep->points.size() == 2);
  for (const SweepPoint& point : sweep->points) {
    REQUIRE(point.peak_ssd_bytes.has_value());
    CHECK(*point.peak_ssd_bytes <= kSsd);
  }
  CHECK(*sweep->points[1].rating < *sweep->points[0].rating);
}

}  // namespace shardwright::ssd_test
