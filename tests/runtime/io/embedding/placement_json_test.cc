// Placement rules, memory limits and measurements in problem files: every key, every refusal with
// its place, and their effect on both modes and the verifier.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/report/embedding/plan_text.h"

namespace shardwright::placement_json_test {

using namespace shardwright;
using namespace shardwright::embedding;

namespace {

// Returns a problem of the tables ads and pages on 2 hosts of 2 ranks, plus `members`.
std::string file(const std::string& members) {
  return R"({"topology": {"world_size": 4, "local_world_size": 2}, "tables": [
    {"name": "ads", "num_embeddings": 100000, "embedding_dim": 64},
    {"name": "pages", "num_embeddings": 200000, "embedding_dim": 128}])" +
         (members.empty() ? "" : ", " + members) + "}";
}

ProblemSpec read(const std::string& members) {
  const auto spec = read_problem(file(members));
  INFO(members);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  return *spec;
}

// Returns the error of the reader or of the problem, as "place: sentence".
std::string refused(const std::string& members) {
  const auto spec = read_problem(file(members));
  if (!spec.ok()) return spec.error().to_string();
  const auto problem = Problem::make(*spec);
  return problem.ok() ? "accepted" : problem.error().to_string();
}

std::shared_ptr<const Problem> problem_of(const std::string& members) {
  const auto problem = Problem::make(read(members));
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::make_shared<const Problem>(*problem);
}

EmbeddingPlanResult planned(const std::string& members) {
  const auto result = plan_embedding(problem_of(members), {});
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return *result;
}

std::string written(const std::string& members) {
  std::string text;
  write_plan(*problem_of(members), planned(members), {},
             [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

TEST_CASE("placement json: every key of a table's placement is read and changes no cost") {
  const ProblemSpec spec = read(R"("constraints": {"ads": {"ranks": [0, 3], "hosts": [1, 0],
      "shard_ranks": {"0": [3], "12": [0, 3]}, "max_shards": 2, "distinct_ranks": true, "note": ""}})");
  const TablePlacement& placement = spec.tables[0].placement;
  CHECK(*placement.ranks == std::vector<std::int64_t>{0, 3});
  CHECK(*placement.hosts == std::vector<std::int64_t>{1, 0});
  REQUIRE(placement.shard_ranks.size() == 2);
  CHECK(placement.shard_ranks[1].shard == 12);
  CHECK(placement.shard_ranks[1].ranks == std::vector<std::int64_t>{0, 3});
  CHECK(placement.max_shards == 2);
  CHECK(placement.distinct_ranks);
  // TorchRec's constraints stay absent unless the file has such members.
  CHECK_FALSE(spec.tables[0].constraints.has_value());
  CHECK_FALSE(spec.tables[1].placement.ranks.has_value());
  const ProblemSpec both = read(
      R"("constraints": {"ads": {"ranks": [1], "sharding_types": ["table_wise"]}, "pages": {}})");
  CHECK(both.tables[0].placement.ranks.has_value());
  CHECK(both.tables[0].constraints->sharding_types.size() == 1);
  CHECK(both.tables[1].constraints.has_value());
}

TEST_CASE("placement json: groups are objects or bare lists") {
  const ProblemSpec spec = read(R"("keep_together": [{"tables": ["ads", "pages"], "on": "rank"},
      ["ads"]], "keep_apart": [["ads", "pages"], {"tables": ["pages"], "on": "host"}])");
  REQUIRE(spec.keep_together.size() == 2);
  CHECK(spec.keep_together[0].on == GroupScope::kRank);
  CHECK(spec.keep_together[0].tables == std::vector<std::string>{"ads", "pages"});
  CHECK(spec.keep_together[1].on == GroupScope::kHost);
  REQUIRE(spec.keep_apart.size() == 2);
  CHECK(spec.keep_apart[0].on == GroupScope::kRank);
  CHECK(spec.keep_apart[1].on == GroupScope::kHost);
}

TEST_CASE("placement json: refusals name the place and suggest what was meant") {
  CHECK(refused(R"("constraints": {"ads": {"rank": [0]}})") ==
        "/constraints/ads/rank: unknown key \"rank\"; did you mean \"ranks\"?");
  CHECK(refused(R"("constraints": {"ads": {"shard_ranks": {"01": [0]}}})")
            .starts_with("/constraints/ads/shard_ranks/01: \"01\" is not the number of a shard"));
  CHECK(refused(R"("constraints": {"ads": {"shard_ranks": {"1": 0}}})")
            .starts_with("/constraints/ads/shard_ranks/1: expected a list of ranks"));
  CHECK(refused(R"("constraints": {"ads": {"ranks": [0, 4]}})")
            .starts_with("/constraints/ads/ranks/1: there is no rank 4"));
  CHECK(refused(R"("constraints": {"ads": {"ranks": [0, 1.5]}})")
            .starts_with("/constraints/ads/ranks/1: expected an integer"));
  CHECK(refused(R"("keep_apart": [["ads", "page"]])") ==
        "/keep_apart/0/1: no table is named \"page\"; did you mean \"pages\"?");
  CHECK(refused(R"("keep_together": [{"tables": ["adss"], "on": "rank"}])") ==
        "/keep_together/0/tables/0: no table is named \"adss\"; did you mean \"ads\"?");
  CHECK(refused(R"("keep_together": [{"tables": ["ads"]}])")
            .starts_with("/keep_together/0: the key \"on\" is missing"));
  CHECK(refused(R"("keep_together": [{"tables": ["ads"], "on": "rack"}])")
            .starts_with("/keep_together/0/on: unknown scope \"rack\""));
  CHECK(refused(R"("keep_apart": ["ads", "pages"])")
            .starts_with("/keep_apart/0: expected an object with `tables` and `on`, or a list"));
  CHECK(refused(R"("keep_apart": [["ads", "ads"]])")
            .starts_with("/keep_apart/0/1: table \"ads\" is named twice"));
  CHECK(refused(R"("keep_apart": [[]])").starts_with("/keep_apart/0: names no table"));
}

TEST_CASE("placement json: memory set aside, margins and measurements are read") {
  const ProblemSpec spec = read(R"("reserved_memory": {"hbm": [1, 2, 3, 4], "ddr": 5},
    "memory_margin": {"hbm": 0.25, "ddr": 7000}, "calibration": {"kernels": {
      "fused": {"time": 1.5, "memory": 2}, "dense": {"comms": [{"dim": 32, "comms": 3}]}},
      "ranks": {"time": [1, 2, 3, 4]}})");
  CHECK(spec.memory.reserved_bytes.hbm == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(spec.memory.reserved_bytes.ddr == std::vector<std::int64_t>{5});
  CHECK(spec.memory.margins.hbm.fraction == 0.25);
  CHECK(spec.memory.margins.ddr.bytes == 7000);
  REQUIRE(spec.calibration.kernels.size() == 2);
  CHECK(spec.calibration.find(ComputeKernel::kFused)->time.at(9) == 1.5);
  CHECK(spec.calibration.find(ComputeKernel::kFused)->memory == 2);
  CHECK(spec.calibration.find(ComputeKernel::kDense)->comms.at(9) == 3);
  CHECK(spec.calibration.rank_time == std::vector<double>{1, 2, 3, 4});
  CHECK(read(R"("memory_margin": 0.1)").memory.margins.ddr.fraction == 0.1);
  CHECK(read(R"("memory_margin": 1024)").memory.margins.hbm.bytes == 1024);
  CHECK(read(R"("memory_margin": 0.1)").memory.margins.ssd.fraction == 0.1);
  CHECK(read(R"("memory_margin": {"ssd": 3000})").memory.margins.ssd.bytes == 3000);
  CHECK(read(R"("reserved_memory": {"ssd": 4})").memory.reserved_bytes.ssd ==
        std::vector<std::int64_t>{4});
  CHECK_FALSE(read(R"("memory_margin": 0)").memory.any_margin());
}

TEST_CASE("placement json: invalid memory and measurements are refused with their place") {
  CHECK(refused(R"("memory_margin": 1.5)").starts_with("/memory_margin: expected a fraction"));
  CHECK(refused(R"("memory_margin": 5)") ==
        "/memory_margin: expected a fraction below 1, such as 0.05, or bytes, at least 1024, found "
        "the number 5");
  CHECK(refused(R"("memory_margin": 1024.5)").starts_with("/memory_margin: expected a fraction"));
  CHECK(refused(R"("memory_margin": -0.5)").starts_with("/memory_margin: must not be negative"));
  CHECK(refused(R"("memory_margin": {"hmb": 1})") ==
        "/memory_margin/hmb: unknown key \"hmb\"; did you mean \"hbm\"?");
  CHECK(refused(R"("reserved_memory": {"hbm": [1, 2]})").starts_with("/reserved_memory/hbm: "));
  CHECK(refused(R"("reserved_memory": {"hbm": 99999999999})")
            .starts_with("/reserved_memory/hbm: sets aside 99999999999 bytes, but rank 0 has"));
  CHECK(refused(R"("calibration": {"kernels": {"fussed": {}}})") ==
        "/calibration/kernels/fussed: unknown compute kernel \"fussed\"; did you mean \"fused\"?");
  CHECK(refused(R"("calibration": {"kernels": {"fused": {"time": []}}})")
            .starts_with("/calibration/kernels/fused/time: holds no factor"));
  CHECK(refused(R"("calibration": {"kernels": {"fused": {"time": [{"dim": 4, "tim": 1}]}}})")
            .starts_with("/calibration/kernels/fused/time/0/tim: unknown key"));
  CHECK(refused(R"("calibration": {"ranks": {"time": [1, 2]}})")
            .starts_with("/calibration/ranks/time: must give one factor per rank"));
}

TEST_CASE("placement: compat mode refuses rules and measured ranks with their place") {
  const auto refusal = [](const std::string& members) {
    PlanOptions compat;
    compat.mode = PlanMode::kCompat;
    const auto result = plan_embedding(problem_of(members), compat);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::kUnsupported);
    CHECK(result.error().message.find("best mode") != std::string::npos);
    return result.error().where;
  };
  CHECK(refusal(R"("constraints": {"pages": {"max_shards": 2}})") ==
        "/constraints/pages/max_shards");
  CHECK(refusal(R"("keep_apart": [["ads"], ["ads", "pages"]])") == "/keep_apart/1");
  CHECK(refusal(R"("calibration": {"ranks": {"time": [1, 1, 2, 1]}})") ==
        "/calibration/ranks/time");
  // Rules that forbid nothing are accepted.
  CHECK(planned(R"("constraints": {"pages": {"hosts": [0, 1]}})").plan.has_value());
}

TEST_CASE("placement: measured kernels and reserved memory apply in compat mode") {
  const EmbeddingPlanResult plain = planned("");
  const EmbeddingPlanResult slow = planned(R"("calibration": {"kernels": {
      "fused": {"time": 2, "comms": 2, "memory": 1.5}, "dense": {"time": 2, "comms": 2},
      "fused_uvm": {"time": 2, "comms": 2}, "fused_uvm_caching": {"time": 2, "comms": 2}}})");
  CHECK(*slow.best_rating == doctest::Approx(2 * *plain.best_rating).epsilon(1e-12));
  const Storage& fused = plain.search_space->options()[1].costs[0].storage;
  const Storage& larger = slow.search_space->options()[1].costs[0].storage;
  REQUIRE(plain.search_space->options()[1].compute_kernel == ComputeKernel::kFused);
  CHECK(larger.hbm.value() == (fused.hbm.value() * 3 + 1) / 2);
  const auto margin =
      planned(R"("memory_margin": 0.25, "reserved_memory": {"hbm": [0, 1000, 0, 0]})");
  const Storage before = plain.reservation->topology.storage()[1];
  const Storage after = margin.reservation->topology.storage()[1];
  const std::int64_t left = before.hbm.value() - 1000;
  CHECK(after.hbm.value() == left - (left + 3) / 4);
}

TEST_CASE("placement: the verifier checks rules that a plan was not made for") {
  const auto document = read_plan(written(""));
  REQUIRE(document.ok());
  const auto verified = [&](const std::string& members) {
    const auto verification = verify_plan(problem_of(members), *document, nullptr);
    REQUIRE(verification.ok());
    return *verification;
  };
  CHECK(verified("").valid());
  const Verification broken = verified(R"("constraints": {"ads": {"ranks": [3]},
      "pages": {"shard_ranks": {"0": [3]}}})");
  REQUIRE_FALSE(broken.valid());
  CHECK(broken.violations[0].where == "/problem_hash");
  CHECK(broken.violations[0].message.find("differs in constraints") != std::string::npos);
  bool named = false;
  for (const auto& finding : broken.violations) {
    named = named || (finding.where == "/plan" &&
                      finding.message.find("/constraints/") != std::string::npos);
  }
  CHECK(named);
}

TEST_CASE("memory parts: they add up, are verified, and are in the report") {
  const std::string members =
      R"("memory_margin": {"hbm": 1000000}, "reserved_memory": {"hbm": 5000})";
  const std::string text = written(members);
  const auto document = read_plan(text);
  REQUIRE(document.ok());
  REQUIRE(document->memory_parts_by_rank.size() == 4);
  for (const ClaimedMemory& parts : document->memory_parts_by_rank) {
    CHECK(parts.margin == std::vector<std::int64_t>{1000000, 0});
    CHECK(parts.reserved == std::vector<std::int64_t>{5000, 0});
    CHECK(parts.capacity[0] ==
          parts.reservation[0] + 5000 + 1000000 + parts.tables[0] + parts.free[0]);
    CHECK(parts.peak[0] == parts.capacity[0] - parts.margin[0] - parts.free[0]);
  }
  CHECK(verify_plan(problem_of(members), *document, nullptr)->valid());
  PlanDocument wrong = *document;
  ++wrong.memory_parts_by_rank[2].free[0];
  const auto verification = verify_plan(problem_of(members), wrong, nullptr);
  REQUIRE(verification->violations.size() == 1);
  CHECK(verification->violations[0].where == "/plan_memory_parts_by_rank/2/free/0");
  wrong.memory_parts_by_rank.pop_back();
  CHECK(verify_plan(problem_of(members), wrong, nullptr)->violations.size() == 1);
  const std::string report = text_report(*problem_of(members), planned(members), {});
  CHECK(report.find("What takes the HBM of a rank at its peak") != std::string::npos);
  CHECK(report.find("977 KiB") != std::string::npos);
}

}  // namespace shardwright::placement_json_test
