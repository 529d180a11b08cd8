// Reads operator graphs and single operators.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/graph/sharding_spec.h"
#include "core/status.h"
#include "search/operators/strategies/generate.h"

namespace shardwright {

// Reads `{name, options, nodes: [{name, kind, call, shape, dtype, is_param, inputs, params,
// buffers, param_dtypes, attrs}]}`. Errors: kInvalidInput with a JSON pointer, and those of
// OpGraph::make.
Result<operators::OpGraph> read_op_graph(std::string_view text);

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
// solver_preference}]}`. Errors: as above; pointers begin with `/records/<i>`.
Result<std::vector<StrategyRecord>> read_strategy_records(std::string_view text);

}  // namespace shardwright
