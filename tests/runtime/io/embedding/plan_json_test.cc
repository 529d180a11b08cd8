// Plan files: written in the format of the recorded answers, and read back.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "runtime/embedding/planner.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_document.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/recorded_release.h"

namespace shardwright::plan_json_test {

using namespace shardwright;
using embedding::Problem;

namespace {

const std::string kFolder = "tests/golden/embedding/";

std::shared_ptr<const Problem> golden_problem(const std::string& name) {
  const auto spec = read_problem(*read_file(kFolder + "cases/" + name + ".json.gz"),
                                 test_support::recorded_release());
  REQUIRE(spec.ok());
  return std::make_shared<const Problem>(*Problem::make(*spec));
}

std::string written(const Problem& problem, const EmbeddingPlanResult& result,
                    const PlanJsonOptions& options = {}) {
  std::string text;
  write_plan(problem, result, options, [&](std::string_view piece) { text += piece; });
  return text;
}

EmbeddingPlanResult planned(const std::shared_ptr<const Problem>& problem, bool trace = false) {
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.trace = trace;
  auto result = plan_embedding(problem, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return std::move(result).value();
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != text.npos, from);
  return text.replace(at, from.size(), to);
}

Verification verified(const std::shared_ptr<const Problem>& problem, const std::string& plan) {
  const auto document = read_plan(plan);
  REQUIRE_MESSAGE(document.ok(), document.error().to_string());
  auto verification = verify_plan(problem, *document, nullptr);
  REQUIRE_MESSAGE(verification.ok(), verification.error().to_string());
  return std::move(verification).value();
}

}  // namespace

TEST_CASE("plan json: keys come in a stable order and the file is JSON") {
  const auto problem = golden_problem("01_small_2t_2r_default");
  const std::string text = written(*problem, planned(problem, true), {.search_space = true});
  const auto document = JsonDocument::parse(text);
  REQUIRE_MESSAGE(document.ok(), document.error().to_string());
  std::string keys;
  for (std::size_t i = 0; i < document->root().size(); ++i) {
    keys += std::string(document->root()[i].key()) + " ";
  }
  CHECK(keys ==
        "format name torchrec problem_hash problem_parts search_hash machine plan_hash "
        "reserved_topology search_space_size search_space num_proposals num_plans best_rating "
        "plan_perf_by_rank "
        "plan_hbm_by_rank plan_ddr_by_rank plan_memory_parts_by_rank "
        "plan_ranks_sha1 plan mode lower_bound gap proven_optimal verdict work "
        "threads stopped_by timing proposals ");
  CHECK(document->root().find("lower_bound")->is_null());
  CHECK(document->root().find("stopped_by")->is_null());
}

TEST_CASE("plan json: a plan that is read back equals the plan that was written") {
  const auto problem = golden_problem("32_optimizers_storage_perfmodel_8r");
  const EmbeddingPlanResult result = planned(problem);
  const std::string text = written(*problem, result);
  // The storage model rates in bytes, which are integers.
  CHECK(text.find("\"best_rating\":27734903,") != std::string::npos);
  const auto document = read_plan(text);
  REQUIRE(document.ok());
  CHECK(document->best_rating == result.best_rating);
  CHECK(document->perf_ms_by_rank == result.evaluation.perf_ms_by_rank);
  CHECK(document->search_space_size == 144);
  REQUIRE(document->plan.has_value());
  CHECK(document->plan->size() == 9);
  CHECK((*document->plan)[0].ranks.size() == 8);
  REQUIRE(document->reserved_topology.has_value());
  CHECK(document->reserved_topology->uniform);
  CHECK(document->reserved_topology->dense_storage == std::vector<std::int64_t>{3221225472, 0});
}

TEST_CASE("plan json: a failure says its type, its message and its reason") {
  const auto problem = golden_problem("12_nofit_strict_constraints_4r");
  const EmbeddingPlanResult result = planned(problem);
  const auto document = JsonDocument::parse(written(*problem, result));
  REQUIRE(document.ok());
  CHECK_FALSE(document->root().find("plan").has_value());
  CHECK_FALSE(document->root().find("best_rating").has_value());
  const auto error = document->root().find("error");
  REQUIRE(error.has_value());
  CHECK(error->find("type")->string().value() == "strict_constraints");
  CHECK_FALSE(error->find("message")->string().value().empty());
  CHECK_FALSE(error->find("reason")->string().value().empty());
  CHECK(document->root().find("timing")->find("total_s")->number().ok());
}

TEST_CASE("plan json: the form of a trace does not depend on how the search recorded it") {
  const auto problem =
      std::make_shared<const Problem>(*Problem::make(test_support::problem_spec(3, 2, 2)));
  EmbeddingPlanResult result;
  result.trace.emplace();
  using embedding::OptionId;
  embedding::ProposalRecord first;
  first.full = true;
  first.changes = {{0, OptionId(5)}, {1, OptionId(6)}, {2, OptionId(7)}};
  first.feasible = true;
  first.rating = 2.5;
  first.ranks_sha1 = "0123456789abcdef";
  embedding::ProposalRecord second;
  // The changes are unsorted, and position 1 keeps its option.
  second.changes = {{2, OptionId(9)}, {0, OptionId(4)}, {1, OptionId(6)}};
  second.cached = true;
  embedding::ProposalRecord third = first;  // all positions are listed
  third.rating.reset();
  third.ranks_sha1.clear();
  third.feasible = false;
  result.trace->proposals = {first, second, third};
  const std::string text = written(*problem, result);
  CHECK(text.find("{\"p\":0,\"options\":[5,6,7],\"ok\":true,\"rating\":2.5,\"ranks_sha1\":"
                  "\"0123456789abcdef\"},\n{\"p\":0,\"delta\":[[0,4],[2,9]],\"cached\":true,\"ok\":"
                  "false},\n{\"p\":0,\"delta\":[[0,5],[2,7]],\"ok\":false}\n]") !=
        std::string::npos);
}

TEST_CASE("plan json: a requested trace is written even if nothing was proposed") {
  const auto problem = golden_problem("13_reservation_negative_hbm");
  const std::string text = written(*problem, planned(problem, true), {.trace = true});
  CHECK(text.find("\"proposals\":[]") != std::string::npos);
}

TEST_CASE("verify: recorded answers and our own plans pass") {
  for (const char* name : {"01_small_2t_2r_default", "26_offload_scaleup_10t_4r",
                           "30_custom_topology_uneven_hbm_4r", "07_grid_shard_4hosts_32r"}) {
    CAPTURE(name);
    const auto problem = golden_problem(name);
    const Verification theirs =
        verified(problem, *read_file(kFolder + "answers/" + name + ".json.gz"));
    for (const auto& finding : theirs.violations)
      MESSAGE(finding.where << ": " << finding.message);
    CHECK(theirs.valid());
    CHECK(theirs.has_plan);
    CHECK(theirs.claims > 10);
    CHECK(verified(problem, written(*problem, planned(problem))).valid());
  }
}

TEST_CASE("verify: every kind of false claim is found with its place") {
  const auto problem = golden_problem("01_small_2t_2r_default");
  const std::string plan = written(*problem, planned(problem));
  REQUIRE(verified(problem, plan).valid());
  const auto where = [&](const std::string& from, const std::string& to) {
    const Verification verification = verified(problem, with(plan, from, to));
    return verification.valid() ? "" : verification.violations.front().where;
  };
  CHECK(where("\"best_rating\":0.0076", "\"best_rating\":0.0077") == "/best_rating");
  CHECK(where("\"uniform\":[29205613772", "\"uniform\":[29205613773") ==
        "/reserved_topology/uniform/0");
  CHECK(where("\"kjt_storage\":[163840", "\"kjt_storage\":[163841") ==
        "/reserved_topology/kjt_storage/0");
  CHECK(where("\"search_space_size\":32", "\"search_space_size\":33") == "/search_space_size");
  CHECK(where("\"plan_hbm_by_rank\":[3486720", "\"plan_hbm_by_rank\":[3486721") ==
        "/plan_hbm_by_rank/0");
  CHECK(where("\"plan_ddr_by_rank\":[0,0]", "\"plan_ddr_by_rank\":[0]") == "/plan_ddr_by_rank");
  CHECK(where("\"plan_ranks_sha1\":\"a", "\"plan_ranks_sha1\":\"b") == "/plan_ranks_sha1");
  CHECK(where("\"hbm\":788480", "\"hbm\":788481") == "/plan/0/hbm");
  CHECK(where("\"ranks\":[0,1]", "\"ranks\":[1,0]") == "/plan");
  CHECK(where("\"ranks\":[0,1]", "\"ranks\":[0]") == "/plan/0/ranks");
  CHECK(where("\"ranks\":[0,1]", "\"ranks\":[0,2]") == "/plan/0/ranks");
  CHECK(where("\"ranks\":[0,1]", "\"ranks\":[0,-1]") == "/plan/0/ranks");
  CHECK(where("\"compute_kernel\":\"fused\"", "\"compute_kernel\":\"key_value\"") == "/plan/0");
  CHECK(where("\"table\":\"t0\"", "\"table\":\"t9\"") == "/plan/0");
  CHECK(where("\"table\":\"t1\"", "\"table\":\"t0\"") == "/plan/1/ranks");
  CHECK(where("\"lower_bound\":null", "\"lower_bound\":0.5") == "/lower_bound");
  CHECK(where("\"lower_bound\":null,\"gap\":null", "\"lower_bound\":0.001,\"gap\":0.1") == "/gap");
  CHECK(where("\"lower_bound\":null,\"gap\":null,\"proven_optimal\":null",
              "\"lower_bound\":0.001,\"gap\":null,\"proven_optimal\":true") == "/proven_optimal");
}

TEST_CASE("verify: a plan that overfills a rank is a violation") {
  const auto problem = golden_problem("01_small_2t_2r_default");
  const std::string plan = written(*problem, planned(problem));
  auto spec = problem->spec();
  spec.topology.hbm_cap_bytes = 4'200'000;
  spec.reservation.type = embedding::ReservationSpec::Type::kFixed;
  spec.reservation.percentage = 0.5;
  const auto small = std::make_shared<const Problem>(*Problem::make(spec));
  const Verification verification = verified(small, plan);
  bool found = false;
  for (const auto& finding : verification.violations) {
    found = found || finding.message.find("bytes more HBM than it has") != std::string::npos;
  }
  CHECK(found);
}

TEST_CASE("verify: a file that only explains why there is no plan is checked as far as possible") {
  const auto problem = golden_problem("12_nofit_strict_constraints_4r");
  const Verification verification =
      verified(problem, *read_file(kFolder + "answers/12_nofit_strict_constraints_4r.json.gz"));
  CHECK(verification.valid());
  CHECK_FALSE(verification.has_plan);
}

TEST_CASE("plan json: a table may have 2^58 elements, all shards of a layout less than 2^60") {
  const auto reads = [](const std::string& columns, int shards) {
    std::string ranks, runs;
    for (int shard = 0; shard < shards; ++shard) {
      ranks += (shard == 0 ? "" : ",") + std::to_string(shard);
      runs += (shard == 0 ? "[1125899906842624," : ",[1125899906842624,") + columns + ",0,0,0,0,1]";
    }
    return read_plan(
               R"({"plan": [{"table": "a", "sharding_type": "data_parallel", "compute_kernel": "dense",
      "ranks": [)" +
               ranks + R"(], "layout": [)" + runs + "]}]}")
        .ok();
  };
  CHECK(reads("256", 1));
  CHECK_FALSE(reads("257", 1));
  CHECK(reads("256", 3));
  CHECK_FALSE(reads("256", 4));
}

}  // namespace shardwright::plan_json_test
