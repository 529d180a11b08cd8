// Best mode through the command, as a user plans: bounds, proofs, limits and placement rules.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "tests/support/command.h"

namespace shardwright::best_command_test {

using namespace shardwright::test_support;
using nlohmann::json;
using shardwright::read_file;
using shardwright::write_file;

namespace {

// No search that a test can wait for proves that a plan of this case is optimal.
const std::string kHard = "tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz";
const std::string kSample = "samples/data/mlperf_dlrm_dcnv2.json";
const std::string kOneHost = " --ranks 8 --hbm 80GiB ";
const std::string kRanks = " --ranks 16 --ranks-per-host 8 --hbm 80GiB ";

json planned(const Command& run, const std::string& arguments) {
  const CommandOutcome outcome = run("plan --json " + arguments);
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return json::parse(outcome.out);
}

void check_verified(const Command& run, const std::string& problem, const json& plan) {
  REQUIRE(write_file(run.path("plan.json"), plan.dump()).ok());
  const CommandOutcome outcome = run("verify " + problem + " " + run.path("plan.json"));
  CHECK_MESSAGE(outcome.status == 0, outcome.out);
}

// Returns the processor time of all commands that have ended, summed over their threads.
double cpu_seconds_of_commands() {
  rusage usage{};
  REQUIRE(getrusage(RUSAGE_CHILDREN, &usage) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::set<int> ranks_of(const json& plan, const std::string& table) {
  for (const json& entry : plan["plan"]) {
    if (entry["table"] == table) return entry["ranks"].get<std::set<int>>();
  }
  FAIL("no table " << table);
  return {};
}

}  // namespace

TEST_CASE("best command: the default mode plans a sample, and verify accepts plan and proof") {
  const Command run;
  const json best = planned(run, kSample + kOneHost);
  CHECK(best["mode"] == "best");
  CHECK(best["stopped_by"].is_null());
  const double rating = best["best_rating"].get<double>();
  const double bound = best["lower_bound"].get<double>();
  CHECK(bound <= rating);
  CHECK(best["gap"].get<double>() == doctest::Approx((rating - bound) / rating).epsilon(1e-9));
  CHECK(best["gap"].get<double>() <= 1e-4);
  CHECK(best["proven_optimal"] == true);
  CHECK(best["certificate"]["bound"] == best["lower_bound"]);
  const json& steps = best["improvements"];
  REQUIRE(!steps.empty());
  CHECK(steps.back()["rating"] == best["best_rating"]);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    CHECK(steps[i]["work"] > steps[i - 1]["work"]);
    CHECK(steps[i]["rating"] <= steps[i - 1]["rating"]);
    CHECK(steps[i].value("bound", 0.0) >= steps[i - 1].value("bound", 0.0));
  }
  check_verified(run, kSample + kOneHost, best);

  // On two hosts, the proof suggests the choices of the plan that the search then finds.
  const json two_hosts =
      planned(run, kSample + " --ranks 16 --ranks-per-host 8 --hbm 80GiB --threads 2");
  CHECK(two_hosts["best_rating"].get<double>() < 7.0971);
  CHECK(two_hosts["gap"].get<double>() < 0.026);

  const json compat = planned(run, "--mode compat " + kSample + kOneHost);
  CHECK(compat["mode"] == "compat");
  for (const char* const key : {"lower_bound", "gap", "proven_optimal"}) {
    INFO(std::string(key));
    REQUIRE(compat.contains(key));
    CHECK(compat[key].is_null());
  }
  CHECK_FALSE(compat.contains("certificate"));
  CHECK_FALSE(compat.contains("improvements"));
  CHECK(rating <= compat["best_rating"].get<double>());
  check_verified(run, kSample + kOneHost, compat);
}

TEST_CASE("best command: a limit of work is honoured") {
  const Command run;
  constexpr std::uint64_t kLimit = 4'000'000;
  constexpr std::uint64_t kRound = 12'000'000;  // one round of all lanes and the proof
  const json limited = planned(run, "--work-limit " + std::to_string(kLimit) + " " + kHard);
  CHECK(limited["stopped_by"] == "work_limit");
  CHECK(limited["work"]["work_steps"].get<std::uint64_t>() >= kLimit);
  CHECK(limited["work"]["work_steps"].get<std::uint64_t>() <= kLimit + kRound);
  CHECK(limited["proven_optimal"] == false);
  check_verified(run, kHard, limited);
}

// The speed of a loaded machine is unknown. So the limit is raised until a search finds a plan, and
// processor time shows whether a search ran too long.
TEST_CASE("best command: a limit of time is honoured, and the plan found by then is valid") {
  const Command run;
  constexpr int kThreads = 2;
  constexpr double kLate = 5;
  constexpr double kLongest = 100;
  bool has_plan = false;
  for (double limit_s = 0.25; !has_plan && limit_s < kLongest; limit_s *= 2) {
    const double cpu_before = cpu_seconds_of_commands();
    const CommandOutcome outcome = run("plan --json --threads " + std::to_string(kThreads) +
                                       " --time-limit " + std::to_string(limit_s) + " " + kHard);
    CHECK(cpu_seconds_of_commands() - cpu_before <= kThreads * (limit_s + kLate));
    REQUIRE_MESSAGE((outcome.status == 0 || outcome.status == 4), outcome.err);
    const json answer = json::parse(outcome.out);
    CHECK(answer["stopped_by"] == "time_limit");
    has_plan = outcome.status == 0;
    if (!has_plan) continue;
    CHECK(answer["timing"]["total_s"].get<double>() >= limit_s);
    check_verified(run, kHard, answer);
  }
  CHECK(has_plan);
}

TEST_CASE("best command: with no work allowed there is no plan") {
  const Command run;
  const CommandOutcome outcome = run("plan --json --work-limit 0 " + kSample + kRanks);
  CHECK(outcome.status == 4);
  const json answer = json::parse(outcome.out);
  CHECK(answer["stopped_by"] == "work_limit");
  CHECK_FALSE(answer["error"]["message"].get<std::string>().empty());
}

// Up to 8 tables on 8 ranks, with rules, margins, measured ranks and many shards.
TEST_CASE("best command: tiny problems end proved, optimal or without a plan") {
  const Command run;
  for (const auto& [name, status] :
       {std::pair{"rc4_2646", 3}, std::pair{"generated_100002", 3}, std::pair{"unproven_1006", 0},
        std::pair{"unproven_1011", 0}, std::pair{"generated_618", 0},
        std::pair{"generated_100088", 0}, std::pair{"generated_100142", 0},
        std::pair{"apart_972", 0}, std::pair{"equal_blocks_1551", 0},
        std::pair{"equal_blocks_1854", 0}, std::pair{"distinct_100572", 0},
        std::pair{"together_2861", 0}, std::pair{"ways_622", 0}, std::pair{"alike_656", 0},
        std::pair{"no_program_201048", 3}}) {
    const std::string problem = std::string("tests/golden/embedding/tiny/") + name + ".json.gz";
    CAPTURE(problem);
    const CommandOutcome outcome = run("plan --json " + problem);
    CHECK(outcome.status == status);
    const json answer = json::parse(outcome.out);
    CHECK(answer["stopped_by"].is_null());
    if (status != 0) {
      CHECK(answer["error"]["reason"] == "no_plan_exists");
      continue;
    }
    CHECK(answer["gap"].get<double>() < 1e-8);
    check_verified(run, problem, answer);
    for (const char* const threads : {"1", "3"}) {
      const json again = planned(run, "--threads " + std::string(threads) + " " + problem);
      CHECK(again["plan_hash"] == answer["plan_hash"]);
      CHECK(again["certificate"] == answer["certificate"]);
    }
  }
}

TEST_CASE("best command: tables are where the rules require them") {
  const Command run;
  json problem = json::parse(*read_file(kSample));
  problem["constraints"]["cat_0"]["ranks"] = {3, 11};
  problem["constraints"]["cat_1"]["hosts"] = {1};
  problem["constraints"]["cat_2"]["max_shards"] = 1;
  problem["keep_apart"] = json::array({{"cat_3", "cat_4", "cat_6"}});
  problem["keep_together"] = json::array({{{"tables", {"cat_7", "cat_8"}}, {"on", "rank"}}});
  REQUIRE(write_file(run.path("ruled.json"), problem.dump()).ok());
  const std::string ruled = run.path("ruled.json") + kRanks;
  const json plan = planned(run, "--work-limit 10000000 " + ruled);
  const std::set<int> allowed{3, 11};
  const std::set<int> own = ranks_of(plan, "cat_0");
  CHECK(std::includes(allowed.begin(), allowed.end(), own.begin(), own.end()));
  CHECK(*ranks_of(plan, "cat_1").begin() >= 8);
  CHECK(ranks_of(plan, "cat_2").size() == 1);
  std::set<int> apart;
  std::size_t ranks = 0;
  for (const char* const table : {"cat_3", "cat_4", "cat_6"}) {
    const std::set<int> held = ranks_of(plan, table);
    ranks += held.size();
    apart.insert(held.begin(), held.end());
  }
  CHECK(apart.size() == ranks);
  CHECK(ranks_of(plan, "cat_7") == ranks_of(plan, "cat_8"));
  check_verified(run, ruled, plan);
  if (!plan["lower_bound"].is_null()) CHECK(plan["lower_bound"] <= plan["best_rating"]);
}

}  // namespace shardwright::best_command_test
