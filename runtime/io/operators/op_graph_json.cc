#include "runtime/io/operators/op_graph_json.h"

#include <algorithm>
#include <utility>

#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/op_node_json.h"

namespace shardwright {
namespace {

using operators::OpGraph;
using operators::OpGraphOptions;
using operators::OpGraphSpec;
using operators::OpNode;
using operators::OpParam;

Status read_options(JsonValue value, OpGraphOptions& options) {
  return ObjectReader(value)
      .optional_with(
          "placeholder",
          [&](JsonValue v) { return read_distributed(v, options.distributed_placeholder); })
      .optional_with("output",
                     [&](JsonValue v) { return read_distributed(v, options.distributed_output); })
      .optional_with("shard_option",
                     [&](JsonValue v) { return read_shard_option(v, options.shard_option); })
      .optional_with(
          "solver_preference",
          [&](JsonValue v) { return read_solver_preference(v, options.solver_preference); })
      .finish();
}

Status read_inputs(JsonValue value, std::vector<std::uint32_t>& inputs) {
  std::vector<std::int64_t> numbers;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, numbers));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] > std::int64_t{UINT32_MAX})
      return value[i].error("must be the index of a node");
    inputs.push_back(static_cast<std::uint32_t>(numbers[i]));
  }
  return {};
}

Status read_params(JsonValue value, std::vector<OpParam>& params) {
  if (!value.is_object()) return value.expected("an object of shapes");
  for (std::size_t i = 0; i < value.size(); ++i) {
    OpParam& param = params.emplace_back();
    param.name = value[i].key();
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i], param.shape));
  }
  return {};
}

// Returns the parameter with this name. Errors: kInvalidInput if there is none.
Result<OpParam*> referred(JsonValue place, std::string_view name, std::vector<OpParam>& params) {
  const auto found = std::find_if(params.begin(), params.end(),
                                  [&](const OpParam& param) { return param.name == name; });
  if (found == params.end())
    return place.error("\"" + std::string(name) + "\" is not among `params`");
  return &*found;
}

Status read_buffers(JsonValue value, std::vector<OpParam>& params) {
  if (!value.is_array()) return value.expected("a list of names");
  for (std::size_t i = 0; i < value.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value[i].string());
    SHARDWRIGHT_ASSIGN_OR_RETURN(OpParam * param, referred(value[i], name, params));
    param->buffer = true;
  }
  return {};
}

Status read_param_dtypes(JsonValue value, std::vector<OpParam>& params) {
  if (!value.is_object()) return value.expected("an object of element types");
  for (std::size_t i = 0; i < value.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(OpParam * param, referred(value[i], value[i].key(), params));
    SHARDWRIGHT_RETURN_IF_ERROR(read_element_type(value[i], param->type));
  }
  return {};
}

Status read_node(JsonValue value, OpNode& node) {
  bool distributed = false;
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(value)
          .required("name", node.name)
          .required_with("kind", [&](JsonValue v) { return read_kind(v, node.kind); })
          .optional_with("call", [&](JsonValue v) { return read_call(v, node.call); })
          .required_with("shape", [&](JsonValue v) { return read_shapes(v, node); })
          .optional_with("dtype", [&](JsonValue v) { return read_element_type(v, node.type); })
          .optional("is_param", node.is_param)
          .required_with("inputs", [&](JsonValue v) { return read_inputs(v, node.inputs); })
          .optional_with("params", [&](JsonValue v) { return read_params(v, node.params); })
          .optional_with("buffers", [&](JsonValue v) { return read_buffers(v, node.params); })
          .optional_with("param_dtypes",
                         [&](JsonValue v) { return read_param_dtypes(v, node.params); })
          .optional_with("attrs",
                         [&](JsonValue v) { return read_attrs(v, node.attrs, distributed); })
          .finish());
  order_params(node.params);
  spread_window(node);
  return {};
}

Status read_nodes(JsonValue value, std::vector<OpNode>& nodes) {
  if (!value.is_array()) return value.expected("a list of nodes");
  nodes.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_node(value[i], nodes.emplace_back()));
  return {};
}

}  // namespace

Result<OpGraph> read_op_graph(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kOperatorGraph));
  OpGraphSpec spec;
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(root)
          .optional("name", spec.name)
          .optional_with("options", [&](JsonValue v) { return read_options(v, spec.options); })
          .required_with("nodes", [&](JsonValue v) { return read_nodes(v, spec.nodes); })
          .ignore({"expected", "group", "timing", "note"})
          .finish());
  return OpGraph::make(std::move(spec));
}

}  // namespace shardwright
