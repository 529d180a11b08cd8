// Reads the members that nodes of operator graphs and single operators have in common.
#pragma once

#include <vector>

#include "core/operators/graph/op_graph.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {

// Reads a shape such as `[8, 16]`, or a list of shapes for a tuple.
Status read_shapes(JsonValue value, operators::OpNode& node);

Status read_kind(JsonValue value, operators::OpKind& kind);
Status read_call(JsonValue value, operators::OpCall& call);
Status read_element_type(JsonValue value, operators::ElementType& type);
Status read_shard_option(JsonValue value, operators::ShardOption& option);
Status read_solver_preference(JsonValue value, operators::SolverPreference& preference);

// Reads "replicated" or "distributed".
Status read_distributed(JsonValue value, bool& distributed);

// Reads the attributes of any operator. Placeholders and outputs set `distributed` by `option`.
Status read_attrs(JsonValue value, operators::OpAttrs& attrs, bool& distributed);

// A window of one number, as in MaxPool2d(3, 2), becomes one number per dimension of the node's
// first shape beyond batch and channels.
void spread_window(operators::OpNode& node);

// Moves the weight to the front and the bias after it, whatever their order in the file.
void order_params(std::vector<operators::OpParam>& params);

}  // namespace shardwright
