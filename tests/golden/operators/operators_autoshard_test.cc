// Slapo's recorded answers: optima, numbers of optima, tables, schedules, costs of samples.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/operators/autoshard/autoshard_graph.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/autoshard_json.h"
#include "runtime/operators/autoshard.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright::operators_autoshard_test {
namespace {

using nlohmann::json;
using namespace operators::autoshard;

std::string read_text(const std::string& name) {
  auto text = read_file("tests/golden/operators/" + name + ".json.gz");
  REQUIRE_MESSAGE(text.ok(), name);
  return std::move(text).value();
}

struct Case {
  Request request;
  json recorded;
};

std::vector<Case> read_cases(const std::string& name, CostModel model) {
  const std::string text = read_text(name);
  const auto file = read_autoshard(text);
  REQUIRE_MESSAGE(file.ok(), (file.ok() ? std::string() : file.error().to_string()));
  json recorded = json::parse(text);
  if (!file->is_list) recorded = json::array({recorded});
  std::vector<Case> cases;
  for (std::size_t i = 0; i < file->entries.size(); ++i) {
    const AutoshardEntry& entry = file->entries[i];
    cases.push_back(
        {{entry.graph, entry.devices.value(), entry.model.value_or(model)}, recorded[i]});
  }
  return cases;
}

Assignment assignment_of(const Graph& graph, const json& specs) {
  Assignment assignment(graph.size());
  for (const auto& [name, values] : specs.items()) {
    const std::optional<std::size_t> op = graph.find(name);
    if (!op || !values.is_array()) continue;
    OpSpecs& out = assignment[*op];
    for (const json& value : values) {
      for (const Spec spec : {Spec::kRR, Spec::kRS, Spec::kSR}) {
        if (name_of(spec) == value.get<std::string>()) out.specs[out.count] = spec;
      }
      ++out.count;
    }
  }
  return assignment;
}

json table_of(const Evaluation& evaluation) {
  json table = json::array();
  for (const CostRow& row : evaluation.rows) {
    table.push_back({row.name, row.in, row.out, row.cost});
  }
  return table;
}

Evaluation evaluated(const Request& request, const Assignment& assignment) {
  auto evaluation = evaluate(*request.graph, assignment, request.devices, request.model);
  REQUIRE_MESSAGE(evaluation.ok(),
                  (evaluation.ok() ? std::string() : evaluation.error().to_string()));
  return std::move(evaluation).value();
}

void check_case(const Case& each, const char* count_key, const char* optimal_key,
                const char* table_key, const char* schedule_key) {
  const auto solution = solve(each.request);
  REQUIRE(solution.ok());
  CHECK(solution->optimum == each.recorded["optimum_cost"].get<double>());
  CHECK(solution->num_optimal == each.recorded[count_key].get<std::uint64_t>());
  CHECK(evaluated(each.request, solution->assignment).total == solution->optimum);
  const Graph& graph = *each.request.graph;
  const Assignment optimal = assignment_of(graph, each.recorded[optimal_key]);
  const Evaluation evaluation = evaluated(each.request, optimal);
  CHECK(evaluation.total == each.recorded["optimum_cost"].get<double>());
  CHECK(table_of(evaluation) == each.recorded[table_key]);
  CHECK(json(schedule(graph, optimal, each.request.model)) == each.recorded[schedule_key]);
}

TEST_CASE("golden autoshard: the five tables of the pull request, row by row") {
  const Case each = read_cases("slapo_pr_iterations", CostModel::kV1).front();
  std::size_t next = 0;
  std::vector<std::int64_t> bounds;
  const json& recorded = each.recorded["iterations"];
  const auto improved = improve(
      each.request,
      [&](std::int64_t bound) -> std::optional<Assignment> {
        bounds.push_back(bound / each.request.devices);
        if (next == recorded.size()) return std::nullopt;
        return assignment_of(*each.request.graph, recorded[next++]);
      },
      [&](const Iteration& iteration) {
        const json& expected = recorded[iteration.index];
        CHECK(table_of(iteration.evaluation) == expected["table"]);
        CHECK(iteration.evaluation.total == expected["total"].get<double>());
        CHECK(json(schedule(*each.request.graph, iteration.assignment, each.request.model)) ==
              expected["schedule"]);
      });
  REQUIRE(improved.ok());
  CHECK(improved->iterations == 5);
  CHECK(improved->exhausted);
  CHECK(json(bounds) == each.recorded["bound_sequence"]);
  const auto solution = solve(each.request);
  REQUIRE(solution.ok());
  CHECK(solution->optimum == 131072);
  CHECK(schedule(*each.request.graph, solution->assignment, CostModel::kV1) ==
        std::vector<std::string>{"sch[\"fc1\"].sync(mode=\"fwd_pre\", sync_op_or_fn=\"RR->SR\")",
                                 "sch[\"fc2\"].sync(mode=\"fwd_post\", sync_op_or_fn=\"SR->RR\")"});
}

TEST_CASE("golden autoshard: models of both generations") {
  std::size_t samples = 0;
  for (const char* const name : {"slapo_v1", "slapo_v2"}) {
    for (const Case& each : read_cases(name, CostModel::kV2)) {
      CAPTURE(each.recorded["model"].get<std::string>());
      check_case(each, "num_optimal_assignments", "optimal_assignment_one_of", "optimum_table",
                 "schedule_for_that_optimum");
      for (const json& sample : each.recorded["sample_assignments"]) {
        const Assignment assignment = assignment_of(*each.request.graph, sample["assign"]);
        CHECK(evaluated(each.request, assignment).total == sample["cost"].get<double>());
        ++samples;
      }
    }
  }
  CHECK(samples == 372);
}

TEST_CASE("golden autoshard: random graphs") {
  const std::vector<Case> cases = read_cases("slapo_fuzz_v2", CostModel::kV2);
  CHECK(cases.size() == 19);
  for (const Case& each : cases) {
    CAPTURE(each.recorded["seed"].get<int>());
    check_case(each, "num_optimal", "one_optimal", "table", "schedule");
  }
}

TEST_CASE("golden autoshard: the command's answers can be read and equal the recorded ones") {
  const std::vector<Case> cases = read_cases("slapo_v2", CostModel::kV2);
  std::vector<Request> requests;
  for (const Case& each : cases)
    requests.push_back(each.request);
  std::vector<AutoshardAnswer> answers;
  for (auto& answer : autoshard(requests, 2)) {
    REQUIRE(answer.ok());
    answers.push_back(std::move(answer).value());
  }
  std::string text;
  write_autoshard(answers, true, [&](std::string_view piece) { text += piece; });
  const json written = json::parse(text);
  REQUIRE(written.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const json& each = written[i];
    CHECK(each["optimum_cost"] == cases[i].recorded["optimum_cost"]);
    CHECK(each["num_optimal"] == cases[i].recorded["num_optimal_assignments"]);
    REQUIRE(!each["iterations"].empty());
    const json& last = each["iterations"].back();
    CHECK(last["total"] == each["optimum_cost"]);
    for (const json& iteration : each["iterations"]) {
      const Evaluation evaluation =
          evaluated(cases[i].request, assignment_of(*cases[i].request.graph, iteration));
      CHECK(evaluation.total == iteration["total"].get<double>());
      CHECK(table_of(evaluation) == iteration["table"]);
    }
    const Evaluation evaluation =
        evaluated(cases[i].request, assignment_of(*cases[i].request.graph, each["assignment"]));
    CHECK(table_of(evaluation) == each["table"]);
  }
}

}  // namespace
}  // namespace shardwright::operators_autoshard_test
