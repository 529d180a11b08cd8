// Reads operator graphs and single operators.
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

// Reads a shape such as `[8, 16]`; for a tuple, a list of shapes.
Status read_shapes(JsonValue value, operators::OpNode& node);
JsonShape shapes_shape();

// Describes `kind` and `call`.
void describe_kind(JsonMembers& members, operators::OpNode& node);

// Describes `attrs`, which has the attributes of any operator. The attribute `option` of
// placeholders and outputs sets `distributed`.
void describe_attrs(JsonMembers& members, operators::OpAttrs& attrs, bool& distributed);

// Repeats a window given as one number, as in MaxPool2d(3, 2), for every dimension of the node's
// first shape except batch and channels.
void spread_window(operators::OpNode& node);

// Moves the weight to the front and the bias behind it.
void order_params(std::vector<operators::OpParam>& params);

// Reads `{name, options, nodes: [{name, kind, call, shape, dtype, is_param, inputs, params,
// buffers, param_dtypes, attrs}]}`. Errors: kInvalidInput with a JSON pointer; as OpGraph::make.
Result<operators::OpGraph> read_op_graph(std::string_view text);
JsonShape op_graph_shape();

// One operator on a mesh, as a graph with its operands and producers. The operator is the last
// node.
struct StrategyRecord {
  std::string id;
  std::shared_ptr<const operators::DeviceMesh> mesh;
  operators::OpGraph graph;
  // Nodes from the first producer to the operator.
  std::vector<std::uint32_t> chain;
  operators::StrategyOptions options;  // of the operator; producers have the defaults
};

// Reads `{records: [{id, mesh, kind, call, attrs, operands, producer, shard_option,
// solver_preference}]}`. Errors: as read_op_graph(), with pointers that begin with `/records/<i>`.
Result<std::vector<StrategyRecord>> read_strategy_records(std::string_view text);
JsonShape strategy_records_shape();

}  // namespace shardwright
