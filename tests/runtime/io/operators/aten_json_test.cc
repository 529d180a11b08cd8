#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "runtime/io/json/json_document.h"
#include "runtime/io/machine/machine_json.h"
#include "runtime/io/operators/aten_graph_json.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "runtime/io/operators/contest_json.h"
#include "runtime/operators/sweep_aten.h"

namespace shardwright::aten_json_test {

namespace {

const std::string kGraph = R"({"format": "shardwright.aten_graph", "version": 1, "model": "M",
  "torch": "2.13.0",
  "rules": [{"strategies": [{"outputs": ["R"], "inputs": []}, {"outputs": ["S0"], "inputs": []}],
             "source": "own"},
            {"strategies": [{"outputs": ["R"], "inputs": ["R", "R"]},
                            {"outputs": ["S0"], "inputs": ["S0", "R"]}], "source": "torch"},
            {"strategies": [{"outputs": ["R"], "inputs": ["R"]},
                            {"outputs": ["S0"], "inputs": ["S0"], "divides": 8}], "source": "view"}],
  "nodes": [
    {"name": "w", "op": "placeholder", "role": "parameter", "target": "w", "rule": 0,
     "outputs": [{"shape": [8, 8], "stride": [8, 1], "dtype": "float32"}]},
    {"name": "x", "op": "placeholder", "role": "input", "target": "x", "rule": 0,
     "outputs": [{"shape": [8, 8], "stride": [8, 1], "dtype": "float32"}]},
    {"name": "mm", "op": "aten.mm.default", "inputs": [[1, 0], [0, 0]], "rule": 1,
     "outputs": [{"shape": [8, 8], "stride": [8, 1], "dtype": "float32"}],
     "flops": [[2, [0, 0], [0, 1], [-1, 1]]], "phase": "forward", "module": "a.b", "line": "m.py:3"},
    {"name": "view", "op": "aten.view.default", "inputs": [[2, 0]], "rule": 2, "view": true,
     "outputs": [{"shape": [64], "stride": [1], "dtype": "float32"}]}],
  "outputs": [{"node": 3, "output": 0, "role": "output", "target": "0"}]})";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text = kGraph;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto graph = read_aten_graph(text);
  return graph.ok() ? "" : graph.error().to_string();
}

template <class Write>
std::string written(const Write& write) {
  std::string text;
  write([&](std::string_view piece) { text.append(piece); });
  return text;
}

}  // namespace

TEST_CASE("aten graph file: everything is read") {
  const auto graph = read_aten_graph(kGraph);
  REQUIRE(graph.ok());
  CHECK(is_aten_graph(kGraph));
  CHECK(graph->model() == "M");
  CHECK(graph->size() == 4);
  const operators::AtenNode& mm = (*graph)[2];
  CHECK(mm.module == "a.b");
  CHECK(mm.flops[0].factor == 2);
  CHECK(mm.flops[0].extents[2].of_output);
  CHECK((*graph)[3].view);
  CHECK(graph->rules()[2].entries[1].divides == 8);
}

TEST_CASE("aten graph file: errors name the place") {
  CHECK(error_of(replaced("\"version\": 1", "\"version\": 2")) ==
        "/version: this release reads version 1");
  CHECK(error_of(replaced("shardwright.aten_graph", "other")) ==
        "/format: expected \"shardwright.aten_graph\", found the text \"other\"");
  CHECK(
      error_of(replaced("\"S0\", \"R\"", "\"S0\", \"Q\"")).find("/rules/1/strategies/1/inputs/1") ==
      0);
  CHECK(error_of(replaced("[1, 0], [0, 0]", "[1, 0], [3, 0]")) ==
        "/nodes/2/inputs/1: node 3 is not before \"mm\"");
  CHECK(error_of(replaced("\"float32\"}],\n     \"flops\"", "\"float31\"}],\n     \"flops\""))
            .find("/nodes/2/outputs/0/dtype: unknown dtype \"float31\"") == 0);
  CHECK(error_of(replaced("\"divides\": 8", "\"divides\": 0")) ==
        "/rules/2/strategies/1: \"divides\" must be positive");
  CHECK(error_of(replaced("\"phase\"", "\"fase\"")).find("/nodes/2") == 0);
  CHECK(error_of("[1") != "");
}

TEST_CASE("aten plan: options, plan, sweep and instance pass through JSON") {
  const operators::AtenGraph graph = read_aten_graph(kGraph).value();
  const auto options = read_aten_options(
      R"({"mesh": [4, 2], "memory": 100000, "device": "a100", "optimizer_states": 1,
          "redistribution": "autoparallel", "blocks": "equal", "threads": 1,
          "collectives": {"model": "rings", "links": [{"latency_us": 1, "bandwidth_gb_per_s": 9},
                                                       {"latency_us": 1, "bandwidth_gb_per_s": 9}]},
          "placements": {"inputs": {"x": ["S0", "R"]}, "parameters": {"w": ["R", "R"]}}})");
  REQUIRE(options.ok());
  CHECK(options->constraints.size() == 2);
  const auto result = plan_aten(graph, *options);
  REQUIRE(result.ok());
  REQUIRE(result->plan);
  const std::string plan =
      written([&](const TextSink& sink) { write_aten_plan(graph, *options, *result, sink); });
  const auto document = JsonDocument::parse(plan);
  REQUIRE(document.ok());
  CHECK(document->root().find("format")->string().value() == "shardwright.aten_plan");
  CHECK(document->root().find("nodes")->size() == 4);
  CHECK((*document->root().find("nodes"))[1].find("outputs")->size() == 1);
  CHECK(plan.find(R"({"name":"x","outputs":[["S0","R"]]})") != std::string::npos);

  CHECK(plan.find("hidden_us") == std::string::npos);

  const auto sweep = sweep_aten(graph, 8, 3, *options);
  REQUIRE_FALSE(sweep.ok());  // the constraints and links are for two axes
  PlanAtenOptions plain;
  plain.mesh = {8};
  plain.limits.threads = 1;
  const auto swept = sweep_aten(graph, 8, 3, plain);
  REQUIRE(swept.ok());
  CHECK(swept->rows.size() == 4);
  CHECK(JsonDocument::parse(written([&](const TextSink& sink) {
          write_json(mesh_sweep(*swept), sink);
        })).ok());

  const auto problem = build_aten(graph, plain);
  REQUIRE(problem.ok());
  const std::string instance = written(
      [&](const TextSink& sink) { write_aten_instance(graph, problem->lowered.instance(), sink); });
  const auto read = read_contest_instance(instance, std::nullopt);
  REQUIRE(read.ok());
  CHECK(read->num_strategies() == problem->lowered.instance().num_strategies());
}

TEST_CASE("aten plan: what operators hide passes through JSON") {
  const operators::AtenGraph graph = read_aten_graph(kGraph).value();
  const std::string placed = R"("placements": {"parameters": {"w": ["S0"]}, "inputs": {"x": ["S0"]},
                                             "outputs": {"0": ["S0"]}})";
  const auto options = read_aten_options(
      R"({"mesh": [2], "threads": 1, "overlap": {"parameters": 0.5}, )" + placed + "}");
  REQUIRE(options.ok());
  CHECK(options->overlap.parameters == 0.5);
  CHECK(options->overlap.gradients == 0);
  const auto result = plan_aten(graph, *options);
  REQUIRE(result.ok());
  REQUIRE(result->plan);
  const double hidden = result->evaluation.hidden_us;
  CHECK(hidden > 0);
  const auto document = JsonDocument::parse(
      written([&](const TextSink& sink) { write_aten_plan(graph, *options, *result, sink); }));
  REQUIRE(document.ok());
  const JsonValue root = document->root();
  CHECK(root.find("hidden_us")->number().value() == hidden);
  CHECK(root.find("objective_us")->number().value() ==
        root.find("compute_us")->number().value() + root.find("redistribute_us")->number().value() -
            hidden);
  double sum = 0;
  for (std::size_t n = 0; n < root.find("nodes")->size(); ++n) {
    const auto row = (*root.find("nodes"))[n].find("hidden_us");
    for (std::size_t i = 0; row && i < row->size(); ++i)
      sum += (*row)[i].number().value();
  }
  for (std::size_t o = 0; o < root.find("outputs")->size(); ++o)
    sum += (*root.find("outputs"))[o].find("hidden_us")->number().value();
  CHECK(sum == doctest::Approx(hidden));
}

TEST_CASE("aten options: measured times take the place of estimates") {
  const operators::AtenGraph graph = read_aten_graph(kGraph).value();
  const auto us_with = [&](const std::string& times) {
    PlanAtenOptions options = read_aten_options(R"({"mesh": [2], "threads": 1})").value();
    options.operator_times =
        read_machine_file(R"({"operator_times": )" + times + "}").value().operator_times;
    const auto result = plan_aten(graph, options);
    REQUIRE(result.ok());
    REQUIRE(result->plan);
    return result->plan->nodes[2].compute_us;
  };
  const double estimated = us_with("[]");
  CHECK(estimated >= 7);
  const auto row = [](const char* first, const char* us) {
    return R"({"op": "aten.mm.default", "dtype": "float32", "inputs": [)" + std::string(first) +
           R"(, [8, 8]], "us": )" + us + "}";
  };
  // The plan that splits the rows takes 3 us, so it is chosen instead of the whole product.
  CHECK(us_with("[" + row("[4, 8]", "3") + ", " + row("[8, 8]", "1000") + "]") == 3);
  CHECK(us_with("[" + row("[4, 8]", "1000") + ", " + row("[8, 8]", "2") + "]") == 2);
  CHECK(us_with("[" + row("[5, 8]", "1") + "]") == estimated);  // no device has this shape
}

TEST_CASE("aten options: what is wrong is named") {
  const auto error_in = [](const char* text) {
    const auto options = read_aten_options(text);
    return options.ok() ? std::string() : options.error().to_string();
  };
  CHECK(error_in("{}").find("\"mesh\" is missing") != std::string::npos);
  CHECK(error_in(R"({"mesh": [2], "blocks": "same"})").find("/blocks") == 0);
  CHECK(error_in(R"({"mesh": [2, 2], "placements": {"inputs": {"x": ["R"]}}})")
            .find("/placements/inputs/x") == 0);
  CHECK(error_in(R"({"mesh": [2], "placements": {"inputs": {"x": ["-"]}}})")
            .find("/placements/inputs/x/0") == 0);
  CHECK(error_in(R"({"mesh": [2], "work_limit": -1})") ==
        "/work_limit: expected a whole number from 0 to 2^64 - 1, found the number -1");
  const operators::AtenGraph graph = read_aten_graph(kGraph).value();
  const auto planning_error = [&](const char* text) {
    const auto result = plan_aten(graph, read_aten_options(text).value());
    return result.ok() ? std::string() : result.error().to_string();
  };
  const auto error_of_times = [&](const std::string& rows) {
    const auto machine = read_machine_file(R"({"operator_times": [)" + rows + "]}");
    if (!machine.ok()) return machine.error().to_string();
    PlanAtenOptions options = read_aten_options(R"({"mesh": [2]})").value();
    options.operator_times = machine->operator_times;
    const auto result = plan_aten(graph, options);
    return result.ok() ? std::string() : result.error().to_string();
  };
  CHECK(error_of_times(R"({"op": "a", "inputs": [], "dtype": "int3", "us": 1})")
            .find("/operator_times/0/dtype: unknown dtype") == 0);
  const std::string row = R"({"op": "a", "inputs": [[2]], "dtype": "int8", "us": 1})";
  CHECK(error_of_times(row + "," + row) ==
        "/operator_times/1: \"a\" has a row with these shapes before");
  CHECK(error_of_times(R"({"op": "a", "inputs": [[2]], "dtype": "int8", "us": -1})")
            .find("/operator_times/0: a time must") == 0);
  CHECK(planning_error(R"({"mesh": [0]})").find("/mesh") == 0);
  CHECK(planning_error(R"({"mesh": [2], "device": "abacus"})").find("/device") == 0);
  CHECK(
      planning_error(R"({"mesh": [2], "collectives": {"model": "rings"}})").find("/collectives") ==
      0);
  CHECK(planning_error(R"({"mesh": [3], "collectives": {"model": "nccl"}})")
            .find("/collectives/model") == 0);
  CHECK(planning_error(R"({"mesh": [2], "optimizer_states": 101})").find("/optimizer_states") == 0);
  CHECK(planning_error(R"({"mesh": [2], "overlap": {"gradients": 1.5}})") ==
        "/overlap/gradients: must be a share from 0 to 1");
  CHECK(error_in(R"({"mesh": [2], "overlap": {"tokens": 1}})").find("/overlap") == 0);
}

TEST_CASE("mesh shapes: all ordered products") {
  CHECK(mesh_shapes(8, 3).size() == 4);
  CHECK(mesh_shapes(64, 3).size() == 1 + 5 + 10);
  CHECK(mesh_shapes(1, 3).size() == 1);
}

}  // namespace shardwright::aten_json_test
