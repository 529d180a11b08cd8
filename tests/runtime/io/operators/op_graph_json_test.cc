// Operator graphs and single operators in files: errors name their place.
#include "runtime/io/operators/op_graph_json.h"

#include <string>

#include <doctest/doctest.h>

namespace shardwright::op_graph_json_test {

namespace {

using namespace shardwright;

std::string graph_text(const std::string& relu) {
  return R"({"name": "g", "nodes": [
    {"name": "x", "kind": "placeholder", "shape": [4, 4], "inputs": []},
    )" + relu +
         "]}";
}

std::string place_of_node(const std::string& node) {
  const auto graph = read_op_graph(graph_text(node));
  REQUIRE(!graph.ok());
  return graph.error().where;
}

std::string record_text(const std::string& members) {
  return R"({"records": [{"id": "r", "mesh": [2, 2], )" + members + "}]}";
}

std::string place_of_record(const std::string& members) {
  const auto records = read_strategy_records(record_text(members));
  REQUIRE(!records.ok());
  return records.error().where;
}

constexpr const char* kAddOperands =
    R"("operands": {"input": {"name": "a", "type": "ARG", "shape": [4, 4]},
                    "other": {"name": "b", "type": "PARAM", "shape": [4]},
                    "output": {"name": "c", "type": "OUTPUT", "shape": [4, 4]}})";

}  // namespace

TEST_CASE("op graph json: a window is one number, as in MaxPool2d(3, 2), or one per dimension") {
  const auto pooled = [](const std::string& attrs) {
    return read_op_graph(R"({"nodes": [
      {"name": "x", "kind": "placeholder", "shape": [2, 3, 8, 8], "inputs": []},
      {"name": "p", "kind": "avg_pool2d", "call": "module", "shape": [2, 3, 4, 4], "inputs": [0],
       "attrs": )" + attrs +
                         "}]}");
  };
  for (const char* attrs :
       {R"({"kernel_size": 3, "stride": 2, "padding": 1})",
        R"({"kernel_size": [3], "stride": [2]})", R"({"kernel_size": [3, 3], "stride": 2})"}) {
    CAPTURE(attrs);
    const auto graph = pooled(attrs);
    REQUIRE_MESSAGE(graph.ok(), graph.error().to_string());
    CHECK((*graph)[1].attrs.kernel_size == std::vector<std::int64_t>{3, 3});
  }
  CHECK(pooled(R"({"kernel_size": [3, 3, 3]})").error().to_string() ==
        "/nodes/1/attrs/kernel_size: avg_pool2d \"p\": must be 2 extents of at least 1");
  CHECK(pooled(R"({"stride": "2"})").error().where == "/nodes/1/attrs/stride");
}

TEST_CASE("op graph json: a graph is read with its options and defaults") {
  const auto graph = read_op_graph(
      R"({"options": {"placeholder": "distributed", "shard_option": "full_shard"}, "nodes": [
        {"name": "x", "kind": "placeholder", "shape": [4, 4], "dtype": "int64", "inputs": []},
        {"name": "y", "kind": "getitem", "call": "function", "shape": [2, 4], "inputs": [0],
         "attrs": {"index": {"slice": [0, 2, null]}}}]})");
  REQUIRE(graph.ok());
  CHECK(graph->options().distributed_placeholder);
  CHECK(!graph->options().distributed_output);
  CHECK(graph->options().shard_option == operators::ShardOption::kFullShard);
  CHECK((*graph)[0].type == operators::ElementType::kInt64);
  CHECK((*graph)[1].type == operators::ElementType::kFloat32);
  REQUIRE((*graph)[1].attrs.index.size() == 1);
  CHECK((*graph)[1].attrs.index[0].stop == 2);
  CHECK(!(*graph)[1].attrs.index[0].step);
}

TEST_CASE("op graph json: malformed nodes are errors with their place") {
  CHECK(place_of_node(R"({"name": "y", "kind": "rellu", "shape": [4, 4], "inputs": [0]})") ==
        "/nodes/1/kind");
  CHECK(place_of_node(R"({"name": "y", "kind": "relu", "shape": 4, "inputs": [0]})") ==
        "/nodes/1/shape");
  CHECK(place_of_node(R"({"name": "y", "kind": "relu", "shape": [4, 4], "inputs": [-1]})") ==
        "/nodes/1/inputs/0");
  CHECK(place_of_node(R"({"name": "y", "kind": "relu", "shape": [4, 4], "inputs": [1]})") ==
        "/nodes/1/inputs/0");
  CHECK(place_of_node(
            R"({"name": "y", "kind": "relu", "shape": [4, 4], "inputs": [0], "attr": {}})") ==
        "/nodes/1/attr");
  CHECK(place_of_node(R"({"name": "y", "kind": "relu", "shape": [4, 4], "inputs": [0],
                          "buffers": ["mean"]})") == "/nodes/1/buffers/0");
  CHECK(place_of_node(R"({"name": "y", "kind": "getitem", "shape": [4], "inputs": [0],
                          "attrs": {"index": {"slice": [0]}}})") == "/nodes/1/attrs/index");
  CHECK(place_of_node(R"({"name": "y", "kind": "sum", "shape": [4], "inputs": [0],
                          "attrs": {"dims": [5]}})") == "/nodes/1/attrs");
  CHECK(!read_op_graph("{").ok());
  CHECK(!read_op_graph("[]").ok());
}

TEST_CASE("strategy records: operands become a graph of their own") {
  const auto records = read_strategy_records(
      record_text(std::string(R"("kind": "add", "call": "function", )") + kAddOperands));
  REQUIRE(records.ok());
  REQUIRE(records->size() == 1);
  const StrategyRecord& record = records->front();
  CHECK(record.id == "r");
  CHECK(record.graph.size() == 3);
  CHECK(record.graph[1].is_param);
  CHECK(record.chain == std::vector<std::uint32_t>{2});
}

TEST_CASE("strategy records: malformed records are errors with their place") {
  CHECK(place_of_record(R"("kind": "add", "operands": [])") == "/records/0/operands");
  CHECK(place_of_record(R"("kind": "add", "operands": {}, "colour": 1)") == "/records/0/colour");
  CHECK(place_of_record(R"("kind": "add", "operands": {})") == "/records/0");
  CHECK(place_of_record(std::string(R"("kind": "relu", "call": "module", )") + kAddOperands) ==
        "/records/0");
  CHECK(place_of_record(R"("kind": "add", "operands": {"input": {"name": "a", "type": "IN",
                           "shape": [4]}})") == "/records/0/operands/input/type");
  CHECK(!read_strategy_records(R"({"records": 3})").ok());
  CHECK(!read_strategy_records(R"({"records": [{"id": "r", "mesh": [2, 0], "kind": "add",
                                   "operands": {}}]})")
             .ok());
}

TEST_CASE("strategy records: the producer must make the input") {
  const std::string text = R"("kind": "relu", "call": "module",
    "operands": {"input": {"name": "p", "type": "ARG", "shape": [4]},
                 "output": {"name": "c", "type": "OUTPUT", "shape": [4]}},
    "producer": {"name": "q", "kind": "placeholder", "attrs": {"option": "replicated"},
                 "operands": {"output": {"name": "q", "type": "OUTPUT", "shape": [4]}}})";
  CHECK(place_of_record(text) == "/records/0/producer");
}

}  // namespace shardwright::op_graph_json_test
