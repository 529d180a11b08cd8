// Operator graphs: what is accepted, and which place an error names.
#include "core/operators/graph/op_graph.h"

#include <functional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace shardwright::op_graph_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;

OpNode node(std::string name, OpKind kind, Extents shape, std::vector<std::uint32_t> inputs = {}) {
  OpNode made;
  made.name = std::move(name);
  made.kind = kind;
  made.call = inputs.empty() ? OpCall::kNone : OpCall::kFunction;
  made.shapes = {std::move(shape)};
  made.inputs = std::move(inputs);
  return made;
}

// Nodes: x [8, 16], w [32, 16], linear, relu, output.
OpGraphSpec small() {
  OpGraphSpec spec;
  spec.nodes = {node("x", OpKind::kPlaceholder, {8, 16}), node("w", OpKind::kGetAttr, {32, 16}),
                node("linear", OpKind::kLinear, {8, 32}, {0, 1}),
                node("relu", OpKind::kRelu, {8, 32}, {2}),
                node("output", OpKind::kOutput, {8, 32}, {3})};
  return spec;
}

Error error_of(const std::function<void(OpGraphSpec&)>& change) {
  OpGraphSpec spec = small();
  change(spec);
  const auto graph = OpGraph::make(std::move(spec));
  REQUIRE(!graph.ok());
  return graph.error();
}

// Returns the place of the error after a change of the small graph.
std::string place_of(const std::function<void(OpGraphSpec&)>& change) {
  return error_of(change).where;
}

}  // namespace

TEST_CASE("op graph: a well-formed graph is accepted unchanged") {
  const auto graph = OpGraph::make(small());
  REQUIRE(graph.ok());
  CHECK(graph->size() == 5);
  CHECK((*graph)[2].inputs == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("op graph: inputs precede their node and are listed once") {
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[3].inputs = {3}; }) == "/nodes/3/inputs/0");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[3].inputs = {9}; }) == "/nodes/3/inputs/0");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[2].inputs = {1, 1}; }) == "/nodes/2/inputs/1");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[3].inputs = {}; }) == "/nodes/3/inputs");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes.clear(); }) == "/nodes");
}

TEST_CASE("op graph: names are unique") {
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[1].name = "x"; }) == "/nodes/1/name");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[1].name = ""; }) == "/nodes/1/name");
}

TEST_CASE(
    "op graph: sizes are positive, shapes have at most eight dimensions and are not too large") {
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[0].shapes = {{8, 0}}; }) == "/nodes/0/shape/1");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[0].shapes = {{8, -2}}; }) == "/nodes/0/shape/1");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[0].shapes = {Extents(9, 1)}; }) == "/nodes/0/shape");
  CHECK(place_of([](OpGraphSpec& s) {
          s.nodes[0].shapes = {{std::int64_t{1} << 40, std::int64_t{1} << 40}};
        }) == "/nodes/0/shape");
}

TEST_CASE("op graph: operands must fit each other") {
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[1].shapes = {{32, 8}}; }) == "/nodes/2");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[2].shapes = {{8, 16}}; }) == "/nodes/2/shape");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[3].shapes = {{8, 31}}; }) == "/nodes/3/shape");
  CHECK(place_of([](OpGraphSpec& s) { s.nodes[4].shapes = {{8}}; }) == "/nodes/4/shape");
  CHECK(place_of([](OpGraphSpec& s) {
          s.nodes[3].kind = OpKind::kTranspose;
          s.nodes[3].attrs.dims = {0, 2};
        }) == "/nodes/3/attrs");
  CHECK(place_of([](OpGraphSpec& s) {
          s.nodes[3].kind = OpKind::kPermute;
          s.nodes[3].attrs.dims = {0, 0};
        }) == "/nodes/3/attrs/dims");
  CHECK(place_of([](OpGraphSpec& s) {
          s.nodes[3].kind = OpKind::kView;
          s.nodes[3].shapes = {{8, 31}};
        }) == "/nodes/3/shape");
  CHECK(place_of([](OpGraphSpec& s) {
          s.nodes[3].kind = OpKind::kGetitem;
          s.nodes[3].shapes = {{32}};
        }) == "/nodes/3/attrs/index");
}

TEST_CASE("op graph: broadcast operands must not become too large") {
  constexpr std::int64_t kMany = std::int64_t{1} << 20;
  OpGraphSpec spec;
  spec.nodes = {node("x", OpKind::kPlaceholder, {kMany, kMany}),
                node("w", OpKind::kPlaceholder, {kMany, kMany, 1}),
                node("y", OpKind::kMatmul, {kMany, kMany, 1}, {0, 1})};
  const auto graph = OpGraph::make(std::move(spec));
  REQUIRE(!graph.ok());
  CHECK(graph.error().where == "/nodes/2");
}

TEST_CASE("op graph: linear has no bias operand") {
  const Error error = error_of([](OpGraphSpec& s) { s.nodes[2].attrs.bias = true; });
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.where == "/nodes/2");
}

TEST_CASE("op graph: only modules with weights have parameters, and a linear has no other") {
  const OpParam weight{"weight", {32, 16}};
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
    const std::string expected = "/nodes/" + std::to_string(i) + "/params";
    CHECK(place_of([&](OpGraphSpec& s) { s.nodes[i].params = {weight}; }) == expected);
  }
  CHECK(place_of([&](OpGraphSpec& s) {
          s.nodes[2].call = OpCall::kModule;
          s.nodes[2].inputs = {0};
          s.nodes[2].params = {weight, {"bias", {32}}};
        }) == "/nodes/2/params");
}

TEST_CASE("op graph: tuples come from split and are read with an index in range") {
  OpGraphSpec spec;
  spec.nodes = {node("x", OpKind::kPlaceholder, {8, 4}), node("split", OpKind::kSplit, {4, 4}, {0}),
                node("item", OpKind::kGetitem, {4, 4}, {1})};
  spec.nodes[1].tuple = true;
  spec.nodes[1].shapes = {{4, 4}, {4, 4}};
  spec.nodes[1].attrs.dims = {-2};
  spec.nodes[2].attrs.index.resize(1);
  spec.nodes[2].attrs.index[0].number = -1;
  CHECK(OpGraph::make(spec).ok());
  spec.nodes[2].attrs.index[0].number = 2;
  CHECK(OpGraph::make(spec).error().where == "/nodes/2/attrs/index");
  spec.nodes[1].shapes = {{4, 4}, {3, 4}};
  CHECK(OpGraph::make(spec).error().where == "/nodes/1/shape");
}

TEST_CASE("op graph: shapes broadcast from the last dimension") {
  CHECK(broadcast({4, 1, 3}, {2, 1}) == Extents{4, 2, 3});
  CHECK(broadcast({}, {2}) == Extents{2});
  CHECK(!broadcast({4}, {3}));
}

}  // namespace shardwright::op_graph_test
