// Files of the domain `operators` that are refused: each error has a place and a helpful message.
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/operators/autoshard_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/paths_json.h"
#include "tests/support/malformed.h"

namespace shardwright::malformed_operators_test {

namespace {

using namespace shardwright;
using nlohmann::json;
using test_support::check_malformed;
using test_support::check_no_json;
using test_support::golden_json;

template <class T>
std::string said(const Result<T>& result) {
  return result.ok() ? std::string() : result.error().to_string();
}

std::string graph_error(const std::string& text) { return said(read_op_graph(text)); }
std::string record_error(const std::string& text) { return said(read_strategy_records(text)); }
std::string paths_error(const std::string& text) { return said(read_reshard_questions(text)); }
std::string autoshard_error(const std::string& text) { return said(read_autoshard(text)); }
std::string instance_error(const std::string& text) { return said(read_cost_instance(text)); }

json contest() {
  return json::parse(R"({"problem": {"name": "e",
    "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[1, 2], [3, 4, 5]],
              "usages": [[10, 20], [5, 5, 5]]},
    "edges": {"nodes": [[0, 1]], "costs": [[1, 2, 3, 4, 5, 6]]}, "usage_limit": 50}})");
}

}  // namespace

TEST_CASE("malformed operator graph: errors name the place and explain") {
  check_no_json(graph_error);
  check_malformed(
      golden_json("operators/graphs/mlp"), graph_error,
      {
          {"/nodes/3/inputs", "[3, 2]",
           "/nodes/3/inputs/0: an input must be a node before this one"},
          {"/nodes/3/inputs", "[0, 99]", "/nodes/3/inputs/1: an input must be a node before"},
          {"/nodes/3/inputs", "[-1, 2]", "/nodes/3/inputs/0: must be the index of a node"},
          {"/nodes/3/inputs", "[0, 0]", "/nodes/3/inputs/1: node 0 is an input twice"},
          {"/nodes/3/inputs", "[0]", "/nodes/3/inputs: linear \"linear\": takes 2 inputs, has 1"},
          {"/nodes/3/inputs", "-", "/nodes/3: the key \"inputs\" is missing"},
          {"/nodes/3/name", "\"x\"", "/nodes/3/name: \"x\" names two nodes"},
          {"/nodes/3/name", "\"\"", "/nodes/3/name: a node must have a name"},
          {"/nodes/3/name", "3", "/nodes/3/name: expected a text, found the number 3"},
          {"/nodes/3/kind", "\"linaer\"",
           "/nodes/3/kind: unknown operator \"linaer\"; did you mean \"linear\"?"},
          {"/nodes/3/kind", "4",
           "/nodes/3/kind: expected the name of an operator, found the number 4"},
          {"/nodes/3/call", "\"modul\"", "/nodes/3/call: unknown call \"modul\"; did you mean"},
          {"/nodes/3/shape", "[32, 255]", "/nodes/3/shape: linear \"linear\": the output must be"},
          {"/nodes/3/shape", "[32, 0]", "/nodes/3/shape/1: an extent must be at least 1, is 0"},
          {"/nodes/3/shape", "[32, -4]", "/nodes/3/shape/1: an extent must be at least 1, is -4"},
          {"/nodes/3/shape", "[32.5, 4]", "/nodes/3/shape/0: expected an integer"},
          {"/nodes/3/shape", "\"32x256\"", "/nodes/3/shape: expected a list of extents"},
          {"/nodes/0/shape", "[281474976710657, 64]",
           "/nodes/0/shape: a tensor may have at most 2^48"},
          {"/nodes/0/shape", "[1,1,1,1,1,1,1,1,1]",
           "/nodes/0/shape: a tensor may have at most eight"},
          {"/nodes/0/shape", "[[32, 64], 3]", "/nodes/0/shape/1: expected a list"},
          {"/nodes/0/shape", "[[32, 64]]", "/nodes/0/shape: placeholder \"x\": makes one tensor"},
          {"/nodes/0/dtype", "\"flot32\"",
           "/nodes/0/dtype: unknown element type \"flot32\"; did you mean \"float32\"?"},
          {"/nodes/0/is_param", "1", "/nodes/0/is_param: expected true or false"},
          {"/nodes/3/attrs/biass", "false",
           "/nodes/3/attrs/biass: unknown key \"biass\"; did you mean \"bias\"?"},
          {"/nodes/3/attrs/bias", "true",
           "/nodes/3: linear \"linear\": a bias must be a node of its own"},
          {"/nodes/3/attrs", "[]", "/nodes/3/attrs: expected an object, found an empty list"},
          {"/nodes/3/buffers", "[\"w\"]", "/nodes/3/buffers/0: \"w\" is not among `params`"},
          {"/nodes/3/params", "[1]", "/nodes/3/params: expected an object of shapes"},
          {"/nodes", "[]", "/nodes: a graph must have a node"},
          {"/nodes", "{}", "/nodes: expected a list of nodes, found an object"},
          {"/nodes", "-", "the key \"nodes\" is missing"},
          {"/node", "[]", "/node: unknown key \"node\"; did you mean \"nodes\"?"},
          {"/options/shard_option", "\"shardd\"",
           "/options/shard_option: unknown shard option \"shardd\"; did you mean \"shard\"?"},
          {"/options/shardoption", "\"shard\"", "/options/shardoption: unknown key"},
          {"/edges", "[]", "/edges: unknown key \"edges\""},
      });
}

TEST_CASE("malformed strategy records: errors name the place and explain") {
  check_no_json(record_error);
  json one =
      json::parse(R"({"records": [{"id": "r", "mesh": [2, 2], "kind": "bmm", "call": "function",
    "attrs": {}, "operands": {"input": {"name": "a", "type": "ARG", "shape": [4, 8, 16]},
    "other": {"name": "b", "type": "ARG", "shape": [4, 16, 8]},
    "output": {"name": "c", "type": "OUTPUT", "shape": [4, 8, 8]}}}]})");
  check_malformed(
      one, record_error,
      {
          {"/records/0/id", "-", "/records/0: the key \"id\" is missing"},
          {"/records/0/mesh", "[0, 2]", "/records/0/mesh/0: an axis must have at least one device"},
          {"/records/0/mesh", "[]", "/records/0/mesh: a mesh has at least one axis"},
          {"/records/0/mesh", "[65536, 65536]", "/records/0/mesh: more than 2^31 devices"},
          {"/records/0/mesh", "\"2x2\"", "/records/0/mesh: expected a list"},
          {"/records/0/alpha", "[1]", "/records/0/alpha: 1 entries for a mesh of 2 axes"},
          {"/records/0/alpha", "[-1, 1]", "/records/0/alpha/0: must be a finite number"},
          {"/records/0/kind", "\"bmmm\"", "/records/0/kind: unknown operator \"bmmm\""},
          {"/records/0/operand", "{}", "/records/0/operand: unknown key \"operand\"; did you mean"},
          {"/records/0/operands", "-", "/records/0: the key \"operands\" is missing"},
          {"/records/0/operands/inputt", "{\"name\": \"q\", \"type\": \"ARG\", \"shape\": [1]}",
           "/records/0/operands/inputt: unknown role \"inputt\"; did you mean \"input\"?"},
          {"/records/0/operands/input/type", "\"ARGG\"",
           "/records/0/operands/input/type: unknown operand type \"ARGG\"; did you mean \"ARG\"?"},
          {"/records/0/operands/input/name", "-", "/records/0/operands/input: the key \"name\""},
          {"/records/0/operands/output", "-", "/records/0: has no operand of type OUTPUT"},
          {"/records/0/operands/other/type", "\"OUTPUT\"",
           "/records/0: has two operands of type OUTPUT"},
          {"/records/0/operands/output/shape", "[1, 2, 3]",
           "/records/0: bmm \"c\": the output must be"},
          {"/records/0/kind", "\"relu\"", "/records/0: an operator that follows its input needs"},
          {"/records/0/producer", "{}", "/records/0/producer: the key \"name\" is missing"},
          {"/records", "{}", "/records: expected a list of at least one record"},
          {"/records", "-", "the key \"records\" is missing"},
      });
}

TEST_CASE("malformed reshard questions: errors name the place and explain") {
  check_no_json(paths_error);
  check_malformed(
      json::parse(R"([{"mesh": [2, 2], "shape": [64, 32, 16], "pairs": [["S0,R,R", "R,R,R"]]}])"),
      paths_error,
      {
          {"/0/mesh", "[0, 2]", "/0/mesh/0: a mesh axis has at least one device"},
          {"/0/mesh", "\"2x2\"", "/0/mesh: expected a list with the devices"},
          {"/0/mesh", "-", "/0: the key \"mesh\" is missing"},
          {"/0/shape", "[-1, 2]", "/0/shape/0: an extent is not negative"},
          {"/0/shape", "[1099511627776, 1099511627776]", "/0/shape: the tensor has more than 2^59"},
          {"/0/shape", "[63, 32, 16]", "/0/pairs/0/0: \"S0,R,R\": dimension 0 of 63 elements"},
          {"/0/pairs/0", "[\"S0,S0,R\", \"R,R,R\"]",
           "/0/pairs/0/0: \"S0,S0,R\": a mesh axis shards two"},
          {"/0/pairs/0", "[\"R,R,R\", \"S0,X,R\"]", "/0/pairs/0/1: \"X\" is no sharding"},
          {"/0/pairs/0", "[\"S0,R\", \"R,R,R\"]",
           "/0/pairs/0/0: \"S0,R\": 2 dimensions for a tensor of 3"},
          {"/0/pairs/0", "[\"S5,R,R\", \"R,R,R\"]",
           "/0/pairs/0/0: \"S5,R,R\": the mesh has no such axis"},
          {"/0/pairs/0", "[\"S10,R,R\", \"R,R,R\"]", "/0/pairs/0/0: \"S10\" is no sharding"},
          {"/0/pairs/0", "[\"R,R,R\"]", "/0/pairs/0: expected a pair of a source and a target"},
          {"/0/pairs/0", "[1, 2]", "/0/pairs/0/0: expected a text"},
          {"/0/pairs", "{}", "/0/pairs: expected a list of at least one pair"},
          {"/0/alpha", "[1, -2]", "/0/alpha/1: must be a finite number that is not negative"},
          {"/0/pair", "[]", "/0/pair: unknown key \"pair\"; did you mean \"pairs\"?"},
          {"/0", "3", "/0: expected an object"},
      });
}

TEST_CASE("malformed autoshard graph: errors name the place and explain") {
  check_no_json(autoshard_error);
  json base = golden_json("operators/slapo_v2")[0];
  check_malformed(
      base, autoshard_error,
      {
          {"/p", "2.5", "/p: expected an integer, found the number 2.5"},
          {"/p", "\"8\"", "/p: expected an integer"},
          {"/version", "\"v3\"", "/version: unknown cost model \"v3\""},
          {"/graph", "[]", "/graph: the graph has no ops"},
          {"/graph", "{}", "/graph: expected a list of ops"},
          {"/graph", "-", "this is an answer of `operators autoshard`"},
          {"/graph/1/kind", "\"matmull\"",
           "/graph/1/kind: unknown kind of op \"matmull\"; did you mean"},
          {"/graph/1/args", "[\"nobody\"]",
           "/graph/1/args/0: \"nobody\" is not the name of an earlier op"},
          {"/graph/1/args", "[\"fc1\"]",
           "/graph/1/args/0: \"fc1\" is not the name of an earlier op"},
          {"/graph/1/args", "[]", "/graph/1/args: this op of kind matmul takes 1 tensors, not 0"},
          {"/graph/1/args", "[1]", "/graph/1/args/0: expected a text"},
          {"/graph/1/name", "\"x\"", "/graph/1/name: \"x\" names an earlier op"},
          {"/graph/1/name", "\"\"", "/graph/1/name: an op needs a name"},
          {"/graph/1/shape", "[0, 2]", "/graph/1/shape/0: an extent must be at least 1"},
          {"/graph/1/shape", "[1099511627776, 1099511627776]",
           "/graph/1/shape: a tensor has at most"},
          {"/graph/1/prev", "\"x\"",
           "/graph/1/prev: only a view, permute or transpose has a `prev`"},
          {"/graph/1/shapes", "[]",
           "/graph/1/shapes: unknown key \"shapes\"; did you mean \"shape\"?"},
      });
}

TEST_CASE("malformed cost instance: errors name the place and explain") {
  check_no_json(instance_error);
  check_malformed(
      golden_json("operators/colossal_mlp_2x2"), instance_error,
      {
          {"/nodes/3/strategies", "[]", "/nodes/3/strategies: the node has no strategies"},
          {"/nodes/3/strategies", "{}", "/nodes/3/strategies: expected a list of strategies"},
          {"/nodes/3/strategies/0/compute", "-1",
           "/nodes/3/strategies/0/compute: a cost is negative"},
          {"/nodes/3/strategies/0/compute", "\"x\"",
           "/nodes/3/strategies/0/compute: expected a number"},
          {"/nodes/3/strategies/0/compute", "-",
           "/nodes/3/strategies/0: the key \"compute\" is missing"},
          {"/nodes/3/strategies/0/mem", "-1",
           "/nodes/3/strategies/0/mem: expected a number of bytes from 0"},
          {"/nodes/3/strategies/0/mem", "9223372036854775807",
           "/nodes/3/strategies/0/mem: expected a number of bytes"},
          {"/nodes/3/strategies/0/memm", "1",
           "/nodes/3/strategies/0/memm: unknown key \"memm\"; did you mean \"mem\"?"},
          {"/edges_merged/0/0", "99", "/edges_merged/0/0: there is no node 99"},
          {"/edges_merged/0/0", "-1", "/edges_merged/0/0: there is no node -1"},
          {"/edges_merged/0", "[0, 1]",
           "/edges_merged/0: expected a list [node, node, cost matrix]"},
          {"/edges_merged/0/2", "[[1], [2]]", "/edges_merged/0/2: has 2 rows for 1 strategies"},
          {"/edges_merged/0/2/0", "[1]", "/edges_merged/0/2/0: has 1 entries for 14 strategies"},
          {"/edges_merged/0/2/0/0", "-1", "/edges_merged/0/2/0/0: a cost is negative"},
          {"/edges_merged/0/2/0/0", "null", "/edges_merged/0/2/0/0: expected a number"},
          {"/extra_node_costs", "{\"99\": [1]}", "/extra_node_costs/99: there is no node \"99\""},
          {"/extra_node_costs", "{\"3\": [1]}",
           "/extra_node_costs/3: has 1 entries for 14 strategies"},
          {"/following", "{\"3\": 8, \"8\": 3}",
           "/nodes/3: the nodes that it follows form a cycle"},
          {"/following", "{\"3\": 77}", "/following/3: there is no node 77"},
          {"/following", "{\"3\": 0}",
           "/nodes/3: has 14 strategies, but node 0, whose strategy it takes"},
          {"/alias_set", "[1]", "/alias_set: expected an object by node"},
          {"/memory_budget", "\"x\"", "/memory_budget: expected a number"},
          {"/edgess", "[]", "/edgess: unknown key \"edgess\"; did you mean \"edges\"?"},
          {"/nodes", "-", "the key \"nodes\" is missing"},
      });
}

TEST_CASE("malformed contest instance: errors name the place and explain") {
  check_malformed(
      contest(), instance_error,
      {
          {"/problem/nodes/intervals/0", "[2, 0]",
           "/problem/nodes/intervals/0: the interval ends before"},
          {"/problem/nodes/intervals/0", "[-1, 2]",
           "/problem/nodes/intervals/0/0: expected a whole number"},
          {"/problem/nodes/intervals/0", "[1]",
           "/problem/nodes/intervals/0: expected a list [begin, end]"},
          {"/problem/nodes/intervals/0", "[0.5, 1]",
           "/problem/nodes/intervals/0/0: expected a whole"},
          {"/problem/nodes/costs/0", "[-1, 2]", "/problem/nodes/costs/0/0: a cost is negative"},
          {"/problem/nodes/costs/0", "[]", "/problem/nodes/costs/0: the node has no strategies"},
          {"/problem/nodes/costs/0", "3", "/problem/nodes/costs: line 1, column "},
          {"/problem/nodes/costs/0/1", "\"x\"", "/problem/nodes/costs/0/1: line 1, column "},
          {"/problem/nodes/usages/0", "[1]",
           "/problem/nodes/usages/0: has 1 entries for 2 strategies"},
          {"/problem/nodes/usages/0/0", "-1", "/problem/nodes/usages/0/0: expected a whole number"},
          {"/problem/nodes/costs", "-", "/problem/nodes: the key \"costs\" is missing"},
          {"/problem/nodes/cost", "[]",
           "/problem/nodes/cost: unknown key \"cost\"; did you mean \"costs\"?"},
          {"/problem/edges/nodes/0", "[0, 9]", "/problem/edges/nodes/0: there is no node 9"},
          {"/problem/edges/costs/0", "[1]", "/problem/edges/costs/0: has 1 entries"},
          {"/problem/edges/costs", "[]",
           "/problem/edges: nodes and costs must have one entry per edge"},
          {"/problem/edges", "-", "/problem: the key \"edges\" is missing"},
          {"/problem/usage_limit", "-5",
           "/problem/usage_limit: expected a whole number, zero or above"},
          {"/problem/usage_limit", "\"x\"", "/problem/usage_limit: line 1, column "},
          {"/problem", "null", "/problem: line 1, column "},
      });
}

TEST_CASE("malformed XLA request: errors name the place and explain") {
  check_malformed(
      golden_json("operators/xla_ilp_cases")["solve"][0], instance_error,
      {
          {"/request/s_len", "[1]", "/request: s_len has 1 entries for 5 lists of costs"},
          {"/request/s_len/0", "99", "/request: s_len says that node 0 has 99 strategies"},
          {"/request/s_follow/0", "77", "/request/s_follow/0: there is no such node"},
          {"/request/s_follow", "[0]", "/request/s_follow: has 1 entries instead of 5"},
          {"/request/c/0/0", "-1", "/request/c/0/0: is negative or not a number"},
          {"/request/c/0/0", "\"x\"", "/request/c/0/0: expected a number"},
          {"/request/m/0", "[1]", "/request/m/0: has 1 entries instead of 4"},
          {"/request/m/0/0", "1e300", "/request/m: the bytes held here could add up to over 2^62"},
          {"/request/edges/0", "[0, 99]", "/request/edges/0: there is no such node"},
          {"/request/edges/0", "[0]", "/request/edges/0: expected a pair of nodes"},
          {"/request/r/0", "[1]", "/request/r/0: has 1 entries instead of 16"},
          {"/request/r", "-", "/request: the key \"r\" is missing"},
          {"/request/live", "[[99]]", "/request/live/0: 99 is out of range"},
          {"/request/live", "[[0, 0]]", "/request/live/0: has a repeated entry"},
          {"/request/live", "[[-1]]", "/request/live/0/0: expected an index"},
          {"/request/aliases", "[[0, 99]]", "/request/aliases/0: there is no such node"},
          {"/request/v", "[[1]]", "/request/v/0: has 1 entries instead of 9"},
          {"/request/overbudget_coeff", "-1", "/request/overbudget_coeff: is negative"},
          {"/request/num_nodes", "77", "/request: num_nodes is 77, but there are 5"},
          {"/request/edgez", "[]",
           "/request/edgez: unknown key \"edgez\"; did you mean \"edges\"?"},
      });
}

}  // namespace shardwright::malformed_operators_test
