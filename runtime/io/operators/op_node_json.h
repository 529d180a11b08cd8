// What nodes of operator graphs and single operators have in common in files.
#pragma once

#include <vector>

#include "core/operators/graph/op_graph.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {

// `[8, 16]`, or a list of such for a tuple.
Status read_shapes(JsonValue value, operators::OpNode& node);

Status read_kind(JsonValue value, operators::OpKind& kind);
Status read_call(JsonValue value, operators::OpCall& call);
Status read_element_type(JsonValue value, operators::ElementType& type);
Status read_shard_option(JsonValue value, operators::ShardOption& option);
Status read_solver_preference(JsonValue value, operators::SolverPreference& preference);

// "replicated" or "distributed".
Status read_distributed(JsonValue value, bool& distributed);

// Attributes of any kind; `distributed` is what placeholder and output say under `option`.
Status read_attrs(JsonValue value, operators::OpAttrs& attrs, bool& distributed);

// A weight comes first and a bias second, whatever the order in the file.
void order_params(std::vector<operators::OpParam>& params);

}  // namespace shardwright
