// Signals while commands that may run long work on the largest inputs.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/stop_checks.h"

namespace shardwright::stop_large_test {

using namespace shardwright::test_support;
using nlohmann::json;

namespace {

const Arguments kSixteen{"--ranks", "16", "--ranks-per-host", "8", "--hbm", "200GiB", "--json"};
const Arguments kThousand{"--ranks", "1024", "--ranks-per-host", "8", "--hbm", "80GiB", "--json"};

// Writes a chain of operators with some longer edges, in the format of the IOPDDL contest.
std::string write_graph(const Command& run, std::int64_t nodes, std::int64_t strategies) {
  json costs = json::array(), usages = json::array(), intervals = json::array();
  json edges = json::array(), edge_costs = json::array();
  const auto row = [](std::int64_t seed, std::int64_t size, std::int64_t below) {
    json values = json::array();
    for (std::int64_t i = 0; i < size; ++i)
      values.push_back((seed * 7919 + i * 104'729) % below);
    return values;
  };
  const auto add_edge = [&](std::int64_t from, std::int64_t to) {
    edges.push_back({from, to});
    edge_costs.push_back(row(from + 3 * to, strategies * strategies, 500));
  };
  for (std::int64_t node = 0; node < nodes; ++node) {
    costs.push_back(row(node, strategies, 1000));
    usages.push_back(row(2 * node + 1, strategies, 100));
    intervals.push_back({node, node + 1 + node * 31 % 59});
    if (node > 0) add_edge(node - 1, node);
    if (node > 200) add_edge(node - 2 - node * 17 % 190, node);
  }
  const json problem{{"name", "chain"},
                     {"nodes", {{"intervals", intervals}, {"costs", costs}, {"usages", usages}}},
                     {"edges", {{"nodes", edges}, {"costs", edge_costs}}},
                     {"usage_limit", 1300}};
  REQUIRE(write_file(run.path("graph.json"), json{{"problem", problem}}.dump()).ok());
  return run.path("graph.json");
}

}  // namespace

TEST_CASE("stop: the most ranks") {
  const Command run;
  const Arguments plan{
      "plan",  write_tables(run, "few.json", 3), "--ranks", "1048576", "--ranks-per-host", "8",
      "--json"};
  check_stops(plan, {0.2, 1, 3}, kLateAtMostRanks);
  check_stops(joined(plan, {"--mode", "compat"}), {1}, kLateAtMostRanks);
  check_deadlines(plan, kLateAtMostRanks);
}

TEST_CASE("stop: a hundred thousand tables") {
  const Command run;
  const std::string problem = write_tables(run, "most.json", 100'000);
  check_stops(joined({"plan", problem}, kSixteen), {0.3, 1, 2, 4, 8}, kLateAtMostTables);
  check_stops(joined({"enumerate", problem}, kSixteen), {0.3, 1, 2}, kLateAtMostTables);
  check_stops({"sweep", problem, "--ranks", "8,16,24", "--ranks-per-host", "8", "--json"}, {1, 3},
              kLateAtMostTables);
  check_stops({"explain", problem, "--ranks", "2", "--hbm", "8GiB", "--json"}, {0.5, 1, 3},
              kLateAtMostTables);
}

TEST_CASE("stop: thousands of tables on a thousand ranks, and questions about their plan") {
  const Command run;
  const std::string problem = write_tables(run, "large.json", 5'384);
  const std::string plan = run.path("plan.json");
  check_stops(joined({"plan", problem}, kThousand), {0.3, 1, 3}, kLate);
  REQUIRE(
      run("plan " + problem + " --ranks 1024 --ranks-per-host 8 --hbm 80GiB -o " + plan).status ==
      0);
  for (const char* const question : {"explain", "replan", "verify"})
    check_stops(joined({question, problem, plan}, kThousand), {0.1, 0.4, 1, 2}, kLate);
  check_stops({"diff", plan, plan, "--json"}, {0.1, 0.3}, kLate);
}

TEST_CASE("stop: a hundred thousand operators") {
  const Command run;
  const Arguments solve{"operators", "solve", write_graph(run, 100'000, 4), "--json"};
  check_stops(solve, {0.1, 0.5, 1, 2, 4}, kLate);
}

}  // namespace shardwright::stop_large_test
