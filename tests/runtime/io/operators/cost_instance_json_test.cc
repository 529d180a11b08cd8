// Readers of cost instances: the contest's format, malformed files, written answers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/json/json_scanner.h"
#include "runtime/io/operators/contest_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/solve_json.h"
#include "runtime/report/operators/operators_text.h"

namespace shardwright::cost_instance_json_test {

using namespace shardwright::operators;
using Json = nlohmann::json;
using shardwright::JsonScanner;
using shardwright::OperatorsResult;
using shardwright::read_contest_instance;
using shardwright::read_cost_instance;
using shardwright::read_file;
using shardwright::Result;
using shardwright::ScannedNumber;

namespace {

// Five nodes in the contest's format.
Json example() {
  return Json::parse(R"({"problem": {"name": "five",
    "nodes": {"intervals": [[10, 50], [20, 50], [0, 30], [30, 50], [60, 60]],
              "costs": [[10, 20], [15, 5, 25], [0], [1000000000000000000, 4], [1]],
              "usages": [[20, 10], [30, 20, 0], [7], [0, 0], [99999]]},
    "edges": {"nodes": [[0, 1], [1, 0], [1, 2], [3, 3], [0, 1], [2, 4, 1]],
              "costs": [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [7, 8, 9], [1, 2, 3, 4],
                        [1, 2, 3, 4, 5, 6], [30, 20, 10]]},
    "usage_limit": 50}})");
}

CostInstance instance_of(const Json& json) {
  Result<CostInstance> instance = read_contest_instance(json.dump());
  if (!instance.ok()) FAIL(instance.error().to_string());
  return std::move(instance).value();
}

std::string error_of(const std::string& text) {
  const auto problem = read_cost_instance(text);
  return problem.ok() ? std::string() : problem.error().to_string();
}

void check_error(const Json& json, const char* expected) {
  const std::string error = error_of(json.dump());
  CHECK_MESSAGE(error.starts_with(expected), error);
}

}  // namespace

TEST_CASE("contest form: costs, forbidden values, shared matrices and relevant time points") {
  const CostInstance instance = instance_of(example());
  CHECK(instance.num_nodes() == 5);
  // A self-loop, and edges to nodes of one strategy, become costs of nodes.
  REQUIRE(instance.edges().size() == 4);
  CHECK(instance.costs(3)[0] == kForbidden);
  CHECK(instance.costs(3)[1] == 4 + 4);
  CHECK(instance.costs(1)[0] == 15 + 30);
  CHECK(instance.costs(1)[2] == 25 + 10);
  // The matrices are 2 x 3, 3 x 2 with the same numbers, and 3 x 1.
  CHECK(instance.num_matrices() == 3);
  CHECK(instance.edges()[0].matrix == instance.edges()[3].matrix);
  CHECK(instance.edge_cost(instance.edges()[0], 1, 0) == 4);
  CHECK(instance.edge_cost(instance.edges()[1], 1, 0) == 3);
  // All nodes are live at time 20, so the limit at any other time is redundant.
  CHECK(instance.limits().size() == 1);
  CHECK(instance.usages(3).empty());
  CHECK(instance.usages(4).empty());
  const CostEvaluation evaluation = evaluate(instance, std::vector<std::uint32_t>{0, 0, 0, 1, 0});
  CHECK(evaluation.peak_bytes == 57);
  CHECK_FALSE(evaluation.feasible());
  CHECK(evaluate(instance, std::vector<std::uint32_t>{1, 0, 0, 1, 0}).feasible());
}

TEST_CASE("contest form: without a limit usages are dropped, and a budget replaces the limit") {
  Json json = example();
  json["problem"].erase("usage_limit");
  CHECK(instance_of(json).limits().empty());
  CHECK(instance_of(json).usages(0).empty());
  const auto budgeted = read_contest_instance(json.dump(), 12);
  REQUIRE(budgeted.ok());
  CHECK(budgeted->limits()[0] == 12);
  // Bytes above the limit are reduced to the limit + 1.
  json["problem"]["nodes"]["usages"][0][0] = 18446744073709551615ULL;
  const auto cut = read_contest_instance(json.dump(), 12);
  REQUIRE(cut.ok());
  CHECK(cut->bytes(cut->usages(0)[0], 0) == 13);
  // A number of nineteen digits that exceeds 2^63.
  json["problem"]["nodes"]["usages"][0][0] = 9999999999999999999ULL;
  REQUIRE(read_contest_instance(json.dump(), 12).ok());
}

TEST_CASE("contest form: the order of keys does not matter") {
  const std::string text =
      R"({"problem":{"usage_limit":9,"edges":{"costs":[[3,4]],"nodes":[[1,0]]},)"
      R"("nodes":{"usages":[[1],[2,3]],"costs":[[5],[6,7]],"intervals":[[0,1],[0,2]]}}})";
  const auto instance = read_contest_instance(text);
  REQUIRE(instance.ok());
  CHECK(evaluate(*instance, std::vector<std::uint32_t>{0, 1}).total() == 5 + 7 + 4);
}

TEST_CASE("contest form: malformed files are refused with their place") {
  const auto with = [](const char* pointer, Json value) {
    Json json = example();
    json[Json::json_pointer(pointer)] = std::move(value);
    return json;
  };
  check_error(with("/problem/nodes/costs/0", Json::array()), "/problem/nodes/costs/0: ");
  check_error(with("/problem/nodes/costs/1/2", -4), "/problem/nodes/costs/1/2: ");
  check_error(with("/problem/nodes/costs/5", {1}), "/problem/nodes: ");
  check_error(with("/problem/nodes/usages/1/1", -4), "/problem/nodes/usages/1/1: ");
  check_error(with("/problem/nodes/usages/1/1", 0.5), "/problem/nodes/usages/1/1: ");
  check_error(with("/problem/nodes/usages/1", {1, 2}), "/problem/nodes/usages/1: ");
  check_error(with("/problem/nodes/intervals/1", {1}), "/problem/nodes/intervals/1: ");
  check_error(with("/problem/edges/nodes/0/1", 5), "/problem/edges/nodes/0: there is no node 5");
  check_error(with("/problem/edges/nodes/0", Json::array()), "/problem/edges/nodes/0: ");
  check_error(with("/problem/edges/costs/0", {1, 2}), "/problem/edges/costs/0: ");
  check_error(with("/problem/edges/costs/1/5", -1), "/problem/edges/costs/1/5: ");
  check_error(with("/problem/edges/costs/6", {1}), "/problem/edges: ");
  check_error(with("/problem/usage_limit", -1), "/problem/usage_limit: ");
  check_error(with("/problem/usage_limits", 1),
              "/problem/usage_limits: unknown key \"usage_limits\"; did you mean \"usage_limit\"?");
  check_error(with("/problem/nodes/costs", "x"), "/problem/nodes/costs: line 1, column ");
  Json wide = with("/problem/edges/nodes/5", {0, 1, 3});
  wide["problem"]["edges"]["costs"][5] = std::vector<int>(12, 1);
  check_error(wide, "/problem/edges/nodes/5: the edge joins 3 nodes");
  CHECK(error_of(example().dump() + " x").starts_with("line 1, column "));
  CHECK(error_of(R"({"problem": {}})") == "/problem: the key \"nodes\" is missing");
  check_error(with("/problem/nodes/intervals/1", {3, 2}),
              "/problem/nodes/intervals/1: the interval ends before it begins");
  check_error(with("/problem/edges/costs/1/5", "x"), "/problem/edges/costs/1/5: line 1, column ");
}

TEST_CASE("contest form: a file cut or damaged anywhere is read or refused, never a crash") {
  const std::string text = example().dump();
  REQUIRE(error_of(text).empty());
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(error_of(text.substr(0, size)).empty());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'\0', '"', ']', '9', '\xff'}) {
      std::string damaged = text;
      damaged[at] = byte;
      if (!error_of(damaged).empty()) ++refused;
    }
  }
  CHECK(refused > text.size());
}

TEST_CASE("json scanner: numbers and strings follow the JSON standard") {
  const auto number = [](const std::string& text) {
    JsonScanner scanner(text);
    ScannedNumber scanned;
    return scanner.read_number(scanned) && scanner.finish() ? scanned
                                                            : ScannedNumber{false, 0, 0, -99};
  };
  CHECK(number("0").whole);
  CHECK(number(" 1000000000000000000 ").integer == 1000000000000000000);
  CHECK(number("9223372036854775807").integer == INT64_MAX);
  CHECK_FALSE(number("9223372036854775808").whole);
  CHECK(number("9223372036854775808").value == 9223372036854775808.0);
  CHECK(number("-12").integer == -12);
  CHECK(number("1.5e3").value == 1500);
  CHECK_FALSE(number("1.5e3").whole);
  for (const char* bad : {"", "01", "-", "1.", "1e", ".5", "+1", "1x", "1e999", "NaN", "0x1"})
    CHECK_MESSAGE(number(bad).value == -99, bad);
  const auto string = [](const std::string& text) {
    JsonScanner scanner(text);
    std::string read;
    return scanner.read_string(read) && scanner.finish() ? read : std::string("bad");
  };
  CHECK(string(R"("a\n\"\u00e9\ud83d\ude00")") == "a\n\"\xc3\xa9\xf0\x9f\x98\x80");
  for (const char* bad : {"\"", "\"\\x\"", R"("\ud83d")", R"("\u12g4")", "\"\n\"", "abc"})
    CHECK_MESSAGE(string(bad) == "bad", bad);
}

TEST_CASE("ColossalAI form: malformed files are refused with their place") {
  const Json good = Json::parse(R"({"nodes": [
    {"name": "a", "strategies": [{"name": "r", "compute": 1, "comm": 2, "mem": 3},
                                 {"name": "s", "compute": 1, "comm": 2, "mem": 3}]},
    {"name": "b", "strategies": [{"name": "r", "compute": 1, "comm": 2, "mem": 3},
                                 {"name": "s", "compute": 1, "comm": 2, "mem": 3}]}],
    "edges": [[0, 1, [[0, 1], [1, 0]]]], "edges_merged": [], "following": {"1": 0},
    "extra_node_costs": {"0": [0.5, 0]}, "alias_set": {}})");
  CHECK(error_of(good.dump()).empty());
  const auto with = [&](const char* pointer, Json value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = std::move(value);
    return json;
  };
  check_error(with("/nodes/0/strategies", Json::array()), "/nodes/0/strategies: ");
  check_error(with("/nodes/0/strategies/1/mem", -1), "/nodes/0/strategies/1/mem: ");
  check_error(with("/nodes/0/strategies/1/comm", -1), "/nodes/0/strategies/1/comm: ");
  check_error(with("/nodes/0/strategies/1/com", 1),
              "/nodes/0/strategies/1/com: unknown key \"com\"; did you mean \"comm\"?");
  check_error(with("/edges/0/0", 2), "/edges/0/0: there is no node 2");
  check_error(with("/edges/0/2", {{0, 1}}), "/edges/0/2: has 1 rows");
  check_error(with("/edges/0/2/1", {0}), "/edges/0/2/1: has 1 entries");
  check_error(with("/edges/0/2/1/0", -1), "/edges/0/2/1/0: ");
  check_error(with("/following/1", 2), "/following/1: there is no node 2");
  check_error(with("/following/x", 0), "/following/x: there is no node \"x\"");
  check_error(with("/following/0", 1), "/nodes/0: ");
  check_error(with("/extra_node_costs/0", {1}), "/extra_node_costs/0: ");
  check_error(with("/edge", 1), "/edge: unknown key \"edge\"");
  check_error(Json::parse(R"({"edges": []})"), "the key \"nodes\" is missing");
  check_error(Json::parse("[]"), "expected an object");
}

TEST_CASE("XLA form: malformed requests are refused with their place") {
  const Result<std::string> text = read_file("tests/golden/operators/xla_ilp_cases.json.gz");
  REQUIRE(text.ok());
  const Json cases = Json::parse(*text);
  const Json& good = cases["solve"][0]["request"];
  CHECK(error_of(good.dump()).empty());
  const auto with = [&](const char* pointer, Json value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = std::move(value);
    return json;
  };
  check_error(with("/num_nodes", 6), "num_nodes is 6");
  check_error(with("/s_len/0", 9), "s_len says that node 0 has 9");
  check_error(with("/s_follow/3", 9), "/s_follow/3: ");
  check_error(with("/s_follow/2", 3), "/nodes/2: ");
  check_error(with("/c/1/0", -1), "/c/1/0: ");
  check_error(with("/d/1", {1}), "/d/1: has 1 entries instead of 3");
  check_error(with("/m/4/2", -3), "/m/4/2: ");
  check_error(with("/r/0", {1}), "/r/0: ");
  check_error(with("/edges/1/0", 7), "/edges/1: ");
  check_error(with("/edges/1", {1}), "/edges/1: expected a pair of nodes");
  check_error(with("/v", Json::array()), "/v: has 0 entries instead of 1");
  check_error(with("/live/2", {1, 1}), "/live/2: ");
  check_error(with("/live/2", {8}), "/live/2: ");
  check_error(with("/max_departure", 8), "/max_departure: unknown key");
  check_error(cases, "holds a list of requests");
  check_error(Json{{"request", with("/c/1/0", -1)}}, "/request/c/1/0: ");
}

TEST_CASE("solve json: a written answer can be read back, with names if there are any") {
  auto problem = read_cost_instance(
      R"({"nodes": [{"name": "a", "strategies": [{"name": "r", "compute": 1.5, "comm": 2, "mem": 3}]}],
          "edges": []})");
  REQUIRE(problem.ok());
  OperatorsResult result;
  result.status = SolveStatus::kOptimal;
  result.choice = {0};
  result.objective = 3.5;
  result.lower_bound = 3.5;
  const auto written = [&] {
    std::string text;
    shardwright::write_solution(*problem, result, 0.25,
                                [&](std::string_view piece) { text += piece; });
    return Json::parse(text);
  };
  Json json = written();
  CHECK(json["status"] == "optimal");
  CHECK(json["objective"] == 3.5);
  CHECK(json["choice"] == Json::array({0}));
  CHECK(json["names"] == Json::array({"r"}));
  CHECK(json["lower_bound"] == 3.5);
  CHECK(json["seconds"] == 0.25);
  CHECK(json["stopped_by"].is_null());
  result = {};
  result.status = SolveStatus::kUnknown;
  result.stopped_by = StopReason::kTimeLimit;
  json = written();
  CHECK(json["status"] == "unknown");
  CHECK(json["choice"].is_null());
  CHECK(json["objective"].is_null());
  CHECK(json["stopped_by"] == "time_limit");
}

TEST_CASE("operators report: shows chosen strategies, conversions and memory") {
  const auto problem = read_cost_instance(R"({"nodes": [
    {"name": "first", "strategies": [{"name": "whole", "compute": 1, "comm": 2, "mem": 2048}]},
    {"name": "second", "strategies": [{"name": "split", "compute": 4, "comm": 0, "mem": 1024}]}],
    "edges": [[0, 1, [[77]]]], "memory_budget": 4096})");
  REQUIRE(problem.ok());
  OperatorsResult result;
  result.status = SolveStatus::kOptimal;
  result.choice = {0, 0};
  result.objective = 84;
  result.peak_bytes = 3072;
  const std::string text = shardwright::text_report(*problem, result);
  for (const char* part : {"2 operators", "Optimal", "84", "whole", "split", "Conversions", "77",
                           "3.00 KiB of 4.00 KiB", "2.00 KiB"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part << " in\n" << text);
  result = {};
  result.status = SolveStatus::kInfeasible;
  CHECK(shardwright::text_report(*problem, result).find("Infeasible") != std::string::npos);
}

}  // namespace shardwright::cost_instance_json_test
