// Reads the members that nodes of operator graphs and single operators have in common.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/graph/sharding_spec.h"
#include "core/status.h"
#include "runtime/io/json/json_members.h"
#include "search/operators/strategies/generate.h"

namespace shardwright {

// Reads a shape such as `[8, 16]`, or a list of shapes for a tuple.
Status read_shapes(JsonValue value, operators::OpNode& node);
JsonShape shapes_shape();

// The members `kind` and `call`.
void describe_kind(JsonMembers& members, operators::OpNode& node);

// The member `attrs`, which has the attributes of any operator. The attribute `option` of
// placeholders and outputs sets `distributed`.
void describe_attrs(JsonMembers& members, operators::OpAttrs& attrs, bool& distributed);

// Repeats a window of one number, as in MaxPool2d(3, 2), for every dimension of the node's first
// shape except batch and channels.
void spread_window(operators::OpNode& node);

// Moves the weight to the front and the bias after it, whatever their order in the file.
void order_params(std::vector<operators::OpParam>& params);

// Reads `{name, options, nodes: [{name, kind, call, shape, dtype, is_param, inputs, params,
// buffers, param_dtypes, attrs}]}`. Errors: kInvalidInput with a JSON pointer, and those of
// OpGraph::make.
Result<operators::OpGraph> read_op_graph(std::string_view text);
JsonShape op_graph_shape();

// One operator on a mesh, as a graph of its operands and producers. The operator is the last
// node.
struct StrategyRecord {
  std::string id;
  std::shared_ptr<const operators::DeviceMesh> mesh;
  operators::OpGraph graph;
  // The operator and the chain of producers that it follows, producers first.
  std::vector<std::uint32_t> chain;
  operators::StrategyOptions options;  // for the operator; its producers have the defaults
};

// Reads `{records: [{id, mesh, kind, call, attrs, operands, producer, shard_option,
// solver_preference}]}`. Errors: as read_op_graph(); pointers begin with `/records/<i>`.
Result<std::vector<StrategyRecord>> read_strategy_records(std::string_view text);
JsonShape strategy_records_shape();

}  // namespace shardwright
