// ColossalAI's recorded instances: nodes, strategies, resharding costs, merged form, aliases.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/operators/build_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/operators/build.h"

namespace shardwright::operators_build_test {
namespace {

using nlohmann::json;
using namespace operators;

struct Case {
  const char* graph;
  const char* answer;
  const char* mesh;
};

constexpr std::initializer_list<Case> kCases{
    {"mlp", "mlp_2x2", "2x2"},
    {"mlp", "mlp_2x4", "2x4"},
    {"gpt2_mlp", "gpt2_mlp_2x2", "2x2"},
    {"gpt2_attn", "gpt2_attn_2x2", "2x2"},
    {"resnet50_b128_32x32", "resnet50_2x2", "2x2"},
};

std::string read_text(const std::string& name) {
  auto text = read_file("tests/golden/operators/" + name + ".json.gz");
  REQUIRE_MESSAGE(text.ok(), name);
  return std::move(text).value();
}

json read_answer(const Case& c) {
  return json::parse(read_text(std::string("colossal_") + c.answer));
}

OpGraph read_graph(const Case& c) {
  auto graph = read_op_graph(read_text(std::string("graphs/") + c.graph));
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().to_string()));
  return std::move(graph).value();
}

BuiltOperators build(const Case& c, const OpGraph& graph, int threads) {
  auto mesh = parse_mesh(c.mesh);
  REQUIRE(mesh.ok());
  auto built = build_operators(graph, std::move(mesh).value(), threads);
  REQUIRE_MESSAGE(built.ok(), (built.ok() ? std::string() : built.error().to_string()));
  return std::move(built).value();
}

std::string text_of(const OpGraph& graph, const CostGraph& costs) {
  std::string text;
  write_cost_graph(graph, costs, [&](std::string_view piece) { text += piece; });
  return text;
}

void check_nodes(const json& ours, const json& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t n = 0; n < theirs.size(); ++n) {
    const std::string name = theirs[n].at("name");
    CAPTURE(name);
    REQUIRE(ours[n].at("strategies").size() == theirs[n].at("strategies").size());
    for (std::size_t s = 0; s < theirs[n].at("strategies").size(); ++s)
      REQUIRE(ours[n].at("strategies")[s] == theirs[n].at("strategies")[s]);
    REQUIRE(ours[n] == theirs[n]);
  }
}

// Doubles must agree to the last bit: both sides sum the same terms in the same order.
void check_edges(const json& ours, const json& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t e = 0; e < theirs.size(); ++e) {
    CAPTURE(e);
    REQUIRE(ours[e] == theirs[e]);
  }
}

}  // namespace

TEST_CASE("operators build: every graph gives the recorded instance, to the last bit") {
  for (const Case& c : kCases) {
    CAPTURE(c.answer);
    const OpGraph graph = read_graph(c);
    const json ours = json::parse(text_of(graph, build(c, graph, 1).costs));
    const json theirs = read_answer(c);
    check_nodes(ours.at("nodes"), theirs.at("nodes"));
    check_edges(ours.at("edges"), theirs.at("edges"));
    check_edges(ours.at("edges_merged"), theirs.at("edges_merged"));
    for (const char* key : {"mesh", "num_nodes", "num_strategies", "edges_before", "edges_after",
                            "following", "extra_node_costs", "alias_set"}) {
      CAPTURE(key);
      CHECK(ours.at(key) == theirs.at(key));
    }
  }
}

TEST_CASE("operators build: any number of threads writes the same instance") {
  for (const Case& c : kCases) {
    const OpGraph graph = read_graph(c);
    const std::string expected = text_of(graph, build(c, graph, 1).costs);
    for (const int threads : {2, 3, 8})
      CHECK(text_of(graph, build(c, graph, threads).costs) == expected);
  }
}

TEST_CASE("operators build: lowering a graph equals reading the instance that it writes") {
  for (const Case& c : kCases) {
    CAPTURE(c.answer);
    const OpGraph graph = read_graph(c);
    const CostGraph costs = build(c, graph, 1).costs;
    for (const bool merged : {true, false}) {
      const auto lowered = lower(graph, costs, {merged, 400'000'000});
      CostInstanceOptions options;
      options.budget = 400'000'000;
      options.unmerged = !merged;
      const auto read = read_cost_instance(text_of(graph, costs), options);
      REQUIRE_MESSAGE(lowered.ok(), (lowered.ok() ? "" : lowered.error().to_string()));
      REQUIRE_MESSAGE(read.ok(), (read.ok() ? "" : read.error().to_string()));
      CHECK(lowered->strategy_names == read->strategy_names);
      const CostInstance& ours = lowered->lowered.instance();
      const CostInstance& theirs = read->lowered.instance();
      REQUIRE(ours.num_nodes() == theirs.num_nodes());
      CHECK(ours.edges().size() == theirs.edges().size());
      // The costs are equal for the first strategies and for the last ones.
      std::vector<std::uint32_t> first(ours.num_nodes(), 0);
      std::vector<std::uint32_t> last;
      for (std::size_t n = 0; n < ours.num_nodes(); ++n)
        last.push_back(ours.num_strategies(n) - 1);
      for (const auto& choice : {first, last}) {
        CHECK(evaluate(ours, choice).total() == evaluate(theirs, choice).total());
        CHECK(evaluate(ours, choice).peak_bytes == evaluate(theirs, choice).peak_bytes);
      }
    }
  }
}

TEST_CASE("operators build: a mesh is written as its extents joined by x") {
  REQUIRE(parse_mesh("2x4").ok());
  CHECK((*parse_mesh("2x4"))->spec().shape == std::vector<std::uint32_t>{2, 4});
  CHECK((*parse_mesh("8"))->num_devices() == 8);
  for (const char* text : {"", "x", "2x", "x2", "2 x 2", "2X2", "-2x2", "0x2", "2x2x", "two"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_mesh(text).ok());
  }
}

TEST_CASE("operators build: malformed graphs are refused with their place") {
  const Case c = *kCases.begin();
  const json good = json::parse(read_text(std::string("graphs/") + c.graph));
  const auto place_of = [&](const json& graph) {
    const auto read = read_op_graph(graph.dump());
    return read.ok() ? std::string("accepted") : read.error().where;
  };
  CHECK(place_of(good) == "accepted");
  json cycle = good;
  cycle["nodes"][3]["inputs"] = {3, 2};
  CHECK(place_of(cycle) == "/nodes/3/inputs/0");
  json later = good;
  later["nodes"][3]["inputs"] = {0, 7};
  CHECK(place_of(later) == "/nodes/3/inputs/1");
  json dangling = good;
  dangling["nodes"][3]["inputs"] = {0, 99};
  CHECK(place_of(dangling) == "/nodes/3/inputs/1");
  json rank = good;
  rank["nodes"][2]["shape"] = {256, 64, 1};
  CHECK(place_of(rank).starts_with("/nodes/3"));
  json shape = good;
  shape["nodes"][4]["shape"] = {32, 128};
  CHECK(place_of(shape).starts_with("/nodes/4"));
}

TEST_CASE("operators build: a graph is infeasible if mesh and options leave a node no strategy") {
  const Case c = *kCases.begin();
  json graph = json::parse(read_text(std::string("graphs/") + c.graph));
  graph["options"]["shard_option"] = "shard";
  const auto read = read_op_graph(graph.dump());
  REQUIRE(read.ok());
  auto mesh = parse_mesh("3x5");
  REQUIRE(mesh.ok());
  const auto built = build_operators(*read, std::move(mesh).value(), 1);
  REQUIRE_FALSE(built.ok());
  CHECK(built.error().code == ErrorCode::kInfeasible);
  CHECK(built.error().where.starts_with("/nodes/"));
  CHECK_FALSE(build_operators(*read, *parse_mesh("2x2"), -1).ok());
}

}  // namespace shardwright::operators_build_test
