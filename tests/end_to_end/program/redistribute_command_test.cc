// `program redistribute` as a user runs it.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::redistribute_command_test {

using namespace shardwright::test_support;
using nlohmann::json;
using shardwright::write_file;

namespace {

const std::string kSample = "samples/data/redistribution.json";

// A redistribution for which paths with less memory take more time.
const json kTradeOff = json::parse(R"json({
  "mesh": [2, 2, 2], "shape": [4096, 4096], "data_type": "bfloat16",
  "source": ["S(0)", "S(1)", "P(sum)"], "target": ["R", "R", "R"],
  "costs": {"model": "rings", "groups": true, "links": [
    {"latency_us": 3, "bandwidth_gb_per_s": 400}, {"latency_us": 1, "bandwidth_gb_per_s": 25},
    {"latency_us": 10, "bandwidth_gb_per_s": 200}]}})json");

}  // namespace

TEST_CASE("redistribute command: the report has every step, and says how good the path is") {
  const Command run;
  const CommandOutcome outcome = run("program redistribute " + kSample, "COLUMNS=100 ");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  CHECK(contains(
      outcome.out,
      "  all_gather(1) of dim 0             S(1) R S(0)                 16.0 MiB  42.94\n"));
  CHECK(
      contains(outcome.out,
               "424.4 us in 3 steps, 3 collectives; a device holds at most 24.0 MiB during a step\n"
               "no other sequence costs less\n"));
  CHECK_FALSE(contains(outcome.out, "Time against memory"));
}

TEST_CASE("redistribute command: axes of unlike size change their order by one message per rank") {
  const Command run;
  const CommandOutcome outcome =
      run("program redistribute tests/golden/reported/axis_order_2x4_redistribution.json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  CHECK(contains(outcome.out, "permute(0,1)"));
  CHECK(contains(outcome.out, "674.1 us in 1 step, 1 collective"));
  CHECK(contains(outcome.out,
                 "no other sequence costs less\n(of collectives along one axis or several"));
  CHECK(contains(run("program redistribute " + kSample).out,
                 "no other sequence costs less\n(of collectives along one axis"));
}

TEST_CASE("redistribute command: --front lists paths of more time and less memory") {
  const Command run;
  REQUIRE(write_file(run.path("case.json"), kTradeOff.dump()).ok());
  const std::string command = "program redistribute " + run.path("case.json");
  const json single = json::parse(run(command + " --json").out);
  CHECK_FALSE(single.contains("front"));
  json answer = json::parse(run(command + " --json --front").out);
  const json front = answer.at("front");
  answer.erase("front");
  CHECK(answer == single);
  REQUIRE(front.size() == 3);
  CHECK(front[0] == single);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]["cost_us"] > front[i - 1]["cost_us"]);
    CHECK(front[i]["peak_bytes"] < front[i - 1]["peak_bytes"]);
    CHECK(front[i]["steps"].back()["after"] == kTradeOff["target"]);
    // A request with this memory as its limit gets the same path.
    json limited = kTradeOff;
    limited["memory_bytes"] = front[i]["peak_bytes"];
    REQUIRE(write_file(run.path("limited.json"), limited.dump()).ok());
    CHECK(json::parse(run("program redistribute --json " + run.path("limited.json")).out) ==
          front[i]);
  }
  const std::string text = run(command + " --front", "COLUMNS=100 ").out;
  CHECK(contains(text, "Time against memory: no other path beats one of these in both\n"));
  CHECK(contains(text, "   1284        36.0 MiB            3  "));
}

TEST_CASE("redistribute command: a limit that no path keeps is an error of the file") {
  const Command run;
  json limited = kTradeOff;
  limited["memory_bytes"] = 1000;
  REQUIRE(write_file(run.path("case.json"), limited.dump()).ok());
  for (const char* const flag : {"", "--front "}) {
    const CommandOutcome outcome =
        run(std::string("program redistribute ") + flag + run.path("case.json"));
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.err,
                   "case.json: no moves within the limits lead from S(0) S(1) P(sum) to R R R"));
  }
}

}  // namespace shardwright::redistribute_command_test
