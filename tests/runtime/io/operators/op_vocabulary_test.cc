// The kinds of operators in files, each with the strategies of ColossalAI's generator for it.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/operators/graph/op_graph.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/operators/build.h"
#include "search/operators/strategies/merge.h"

namespace shardwright::op_vocabulary_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;

// Builds a graph of `before` and the node `y`, on a mesh of 2x2 by default.
BuiltOperators build(const std::string& before, const std::string& y,
                     const std::string& mesh = "2x2") {
  const auto graph = read_op_graph(R"({"nodes": [)" + before + ", " + y + "]}");
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().to_string()));
  auto built = build_operators(*graph, *parse_mesh(mesh), 1);
  REQUIRE_MESSAGE(built.ok(), (built.ok() ? "" : built.error().to_string()));
  return std::move(built).value();
}

std::string input(const std::string& shape) {
  return R"({"name": "x", "kind": "placeholder", "inputs": [], "shape": )" + shape + "}";
}

std::string node(const std::string& kind, const std::string& shape, const std::string& more) {
  return R"({"name": "y", "kind": ")" + kind + R"(", "inputs": [0], "shape": )" + shape + ", " +
         more + "}";
}

// Returns the names of the strategies of the last node.
std::vector<std::string> names(const BuiltOperators& built) {
  std::vector<std::string> all;
  const NodeStrategies& strategies = built.costs.strategies.back();
  for (std::size_t s = 0; s < strategies.size(); ++s)
    all.push_back(strategies.name(s));
  return all;
}

const Strategy& named(const BuiltOperators& built, const std::string& name) {
  const NodeStrategies& strategies = built.costs.strategies.back();
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    if (strategies.name(s) == name) return strategies[s];
  }
  FAIL("no strategy \"", name, "\"");
  return strategies[0];
}

std::string convolution(const std::string& weight) {
  return R"("call": "module", "params": {"weight": )" + weight + R"(}, "attrs": {"bias": false})";
}

}  // namespace

TEST_CASE("op vocabulary: convolutions of one, two and three dimensions have the same strategies") {
  const auto two = names(build(input("[8, 16, 4, 4]"),
                               node("conv2d", "[8, 32, 4, 4]", convolution("[32, 16, 3, 3]"))));
  REQUIRE(two.size() == 16);
  CHECK(names(build(input("[8, 16, 4]"),
                    node("conv1d", "[8, 32, 4]", convolution("[32, 16, 3]")))) == two);
  const BuiltOperators three =
      build(input("[8, 16, 4, 4, 4]"),
            node("conv3d", "[8, 32, 4, 4, 4]", convolution("[32, 16, 3, 3, 3]")));
  CHECK(names(three) == two);
  // Batch x weight x spatial outputs; a device has a quarter of them: 2 * (32 * 16 * 27) * 64.
  CHECK(named(three, "S01R = S01R x RR").compute.forward == 2.0 * 32 * 16 * 27 * 64);
}

TEST_CASE("op vocabulary: poolings shard batch and channels, and an average costs its window") {
  const std::string window[] = {R"("call": "module", "attrs": {"kernel_size": [2]})",
                                R"("call": "module", "attrs": {"kernel_size": [2, 2]})",
                                R"("call": "module", "attrs": {"kernel_size": [2, 2, 2]})"};
  const std::string in[] = {"[8, 16, 4]", "[8, 16, 4, 4]", "[8, 16, 4, 4, 4]"};
  const std::string out[] = {"[8, 16, 2]", "[8, 16, 2, 2]", "[8, 16, 2, 2, 2]"};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::string dims = std::to_string(d + 1) + "d";
    CAPTURE(dims);
    const BuiltOperators max = build(input(in[d]), node("max_pool" + dims, out[d], window[d]));
    const BuiltOperators average = build(input(in[d]), node("avg_pool" + dims, out[d], window[d]));
    CHECK(names(max).size() == 9);
    CHECK(names(average) == names(max));
  }
  const BuiltOperators average = build(input(in[1]), node("avg_pool2d", out[1], window[1]));
  const Strategy& split = named(average, "[S0, S1, R, R] = [S0, S1, R, R]");
  CHECK(split.compute.forward == 4 * 8 * 2 * 2 * 4);   // elements of a device's output x window
  CHECK(split.compute.backward == 4 * 8 * 4 * 4 * 4);  // elements of a device's input x window
  CHECK(split.memory.forward.activation == 4 * (512 + 128));
  CHECK(split.memory.backward.activation == 4 * 512);
}

TEST_CASE("op vocabulary: all binary elementwise operators have the same strategies") {
  const std::string two =
      input("[8, 16]") + R"(, {"name": "z", "kind": "placeholder", "inputs": [], "shape": [16]})";
  const auto of = [&](const std::string& kind) {
    return build(two, R"({"name": "y", "kind": ")" + kind +
                          R"(", "call": "function", "inputs": [0, 1], "shape": [8, 16]})");
  };
  const BuiltOperators add = of("add");
  REQUIRE(names(add).size() == 9);
  for (const char* kind : {"sub", "mul", "div", "truediv", "floordiv", "pow"}) {
    CAPTURE(kind);
    const BuiltOperators other = of(kind);
    REQUIRE(names(other) == names(add));
    for (std::size_t s = 0; s < 9; ++s) {
      CHECK(other.costs.strategies.back()[s].compute.total ==
            add.costs.strategies.back()[s].compute.total);
      CHECK(other.costs.strategies.back()[s].budget_bytes() ==
            add.costs.strategies.back()[s].budget_bytes());
    }
  }
}

TEST_CASE("op vocabulary: dropout and abs follow their input, dropout keeps a mask") {
  const std::string table =
      R"({"name": "x", "kind": "get_attr", "inputs": [], "shape": [8, 16], "attrs": {"target": "t"}})";
  const BuiltOperators dropout =
      build(table, node("dropout", "[8, 16]", R"("call": "module", "attrs": {"p": 0.1})"));
  const BuiltOperators abs = build(table, node("abs", "[8, 16]", R"("call": "function")"));
  CHECK(names(dropout).size() == 9);
  CHECK(names(abs) == names(dropout));
  const Strategy& split = named(dropout, "[S0, S1] -> [S0, S1]_0");  // 32 elements per device
  CHECK(split.compute.total == 64);
  CHECK(split.memory.forward.activation == 256);
  CHECK(split.memory.forward.buffer == 32);
  CHECK(split.memory.backward.activation == 96);
  CHECK(split.memory.backward.temporary == 32);
  CHECK(named(abs, "[S0, S1] -> [S0, S1]_0").compute.total == 20);
  CHECK(dropout.costs.merged.follows[1] == 0);
  CHECK(abs.costs.merged.follows[1] == 0);
}

TEST_CASE(
    "op vocabulary: reshape is a view, unsqueeze gathers everything, and which of them merge") {
  const std::string table =
      R"({"name": "x", "kind": "get_attr", "inputs": [], "shape": [8, 16], "attrs": {"target": "t"}})";
  const std::string view = R"("call": "method", "attrs": {"target_shape": [8, 4, 4]})";
  const std::string function = R"("call": "function", "attrs": {"target_shape": [8, 4, 4]})";
  const BuiltOperators viewed = build(table, node("view", "[8, 4, 4]", view));
  const BuiltOperators method = build(table, node("reshape", "[8, 4, 4]", view));
  const BuiltOperators reshaped = build(table, node("reshape", "[8, 4, 4]", function));
  CHECK(names(method) == names(viewed));
  CHECK(names(reshaped) == names(viewed));
  CHECK(viewed.costs.merged.follows[1] == 0);
  CHECK(reshaped.costs.merged.follows[1] == 0);
  CHECK(method.costs.merged.follows[1] == MergedGraph::kNone);
  const BuiltOperators wider =
      build(table, node("unsqueeze", "[8, 16, 1]", R"("call": "method", "attrs": {"dim": 2})"));
  const BuiltOperators same = build(
      table,
      node("default_reshape", "[8, 16, 1]", R"("call": "method", "attrs": {"op": "unsqueeze"})"));
  REQUIRE(names(wider) == names(same));
  CHECK(names(wider)[0] == "[S0, S1] -> FULLY REPLICATED_0");
  CHECK(wider.costs.strategies.back()[0].budget_bytes() ==
        same.costs.strategies.back()[0].budget_bytes());
}

TEST_CASE("op vocabulary: errors of an operator name its place") {
  const auto error = [](const std::string& in, const std::string& y) {
    const auto graph = read_op_graph(R"({"nodes": [)" + input(in) + ", " + y + "]}");
    return graph.ok() ? std::string("accepted") : graph.error().to_string();
  };
  CHECK(error("[8, 16, 4, 4]", node("conv1d", "[8, 32, 4]", convolution("[32, 16, 3]"))) ==
        "/nodes/1: conv1d \"y\": input [8, 16, 4, 4], weight [32, 16, 3] and output [8, 32, 4] "
        "must have 3 dimensions");
  CHECK(error("[8, 16]", node("max_pool1d", "[8, 16]", R"("call": "module")"))
            .starts_with("/nodes/1: max_pool1d \"y\": "));
  CHECK(error("[8, 16, 4]", node("avg_pool1d", "[8, 16, 2]", R"("call": "module")"))
            .starts_with("/nodes/1/attrs/kernel_size: avg_pool1d \"y\": "));
  CHECK(error("[8, 16, 4]", node("avg_pool1d", "[8, 16, 2]",
                                 R"("call": "module", "attrs": {"kernel_size": [0]})"))
            .starts_with("/nodes/1/attrs/kernel_size: "));
  CHECK(error("[8, 16]", node("addmm", "[8, 16]", R"("call": "function")"))
            .starts_with("/nodes/1/kind: \"addmm\" is written as two nodes"));
  CHECK(error("[8, 16]", node("drop_out", "[8, 16]", R"("call": "function")")) ==
        "/nodes/1/kind: unknown operator \"drop_out\"; did you mean \"dropout\"?");
}

TEST_CASE("op vocabulary: meshes of three axes are refused") {
  const auto graph = read_op_graph(R"({"nodes": [)" + input("[8, 16]") + "]}");
  REQUIRE(graph.ok());
  const auto built = build_operators(*graph, *parse_mesh("2x2x2"), 1);
  REQUIRE_FALSE(built.ok());
  CHECK(built.error().code == ErrorCode::kUnsupported);
  CHECK(built.error().to_string() ==
        "/mesh: strategies are defined for meshes of one or two axes, this one has 3");
}

}  // namespace shardwright::op_vocabulary_test
