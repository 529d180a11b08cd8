// `--stats` of `plan` and `verify` as a user runs them.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::stats_command_test {

namespace {

using nlohmann::json;
using shardwright::test_support::Command;
using shardwright::test_support::contains;

const std::string kProblem = "tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz";

}  // namespace

TEST_CASE("stats: plan and verify give the same figures, in JSON and as text, on request only") {
  const Command run;
  const std::string plan = run.path("plan.json");
  REQUIRE(run("plan --mode compat --stats " + kProblem + " -o " + plan).status == 0);
  const json planned = json::parse(*shardwright::read_file(plan));
  REQUIRE(planned.contains("stats"));
  const json& stats = planned["stats"];
  CHECK(stats["ranks"].size() == 16);
  // The rating sums the times of shards, the statistics their parts, so rounding differs.
  CHECK(stats["max_perf"]["ms"].get<double>() ==
        doctest::Approx(planned["best_rating"].get<double>()).epsilon(1e-12));
  const double path = stats["critical_path"]["total"].get<double>();
  CHECK(path >= planned["best_rating"].get<double>());
  CHECK(stats["kernels"]["fused"]["tables"] == 20);
  CHECK(stats["ddr_imbalance"].is_null());
  const json verified = json::parse(run("verify --stats --json " + kProblem + " " + plan).out);
  CHECK(verified["valid"] == true);
  CHECK(verified["stats"] == stats);
  CHECK(contains(run("plan --mode compat --stats " + kProblem).out, "critical path, comms"));
  CHECK(contains(run("verify --stats " + kProblem + " " + plan).out, "critical path, comms"));
  CHECK_FALSE(contains(run("plan --mode compat " + kProblem).out, "critical path"));
  CHECK_FALSE(json::parse(run("plan --mode compat --json " + kProblem).out).contains("stats"));
}

}  // namespace shardwright::stats_command_test
