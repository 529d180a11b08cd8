#include "runtime/io/operators/op_graph_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/io/kinds/document_kind.h"

namespace shardwright {
namespace {

using operators::IndexEntry;
using operators::OpAttrs;

constexpr std::array<std::string_view, 2> kDistribution{"replicated", "distributed"};

template <class Enum>
Status read_named(JsonValue value, std::string_view what, std::span<const std::string_view> names,
                  Enum& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
  out = static_cast<Enum>(index);
  return {};
}

bool is_number(JsonValue value) {
  return value.type() == JsonType::kInteger || value.type() == JsonType::kUnsigned;
}

Status read_entry(JsonValue value, IndexEntry& entry) {
  if (is_number(value)) return read_value(value, entry.number);
  if (!value.is_object())
    return value.expected("a whole number or {\"slice\": [start, stop, step]}");
  std::vector<std::optional<std::int64_t>> ends;
  SHARDWRIGHT_RETURN_IF_ERROR(JsonMembers(value).required("slice", ends).finish());
  if (ends.size() != 3) return value.error("a slice has three ends: start, stop, step");
  entry.start = ends[0];
  entry.stop = ends[1];
  entry.step = ends[2];
  return {};
}

Status read_index(JsonValue value, OpAttrs& attrs) {
  attrs.index_is_list = value.is_array();
  if (!attrs.index_is_list) return read_entry(value, attrs.index.emplace_back());
  for (std::size_t i = 0; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_entry(value[i], attrs.index.emplace_back()));
  return {};
}

Status read_target_dtype(JsonValue value, OpAttrs& attrs) {
  operators::ElementType type{};
  SHARDWRIGHT_RETURN_IF_ERROR(read_element_type(value, type));
  attrs.target_dtype = type;
  return {};
}

// Returns a function that reads one dimension and appends it to `attrs.dims`.
auto single_dim(OpAttrs& attrs) {
  return [&attrs](JsonValue value) { return read_value(value, attrs.dims.emplace_back()); };
}

// Returns a function that reads one number per dimension, or one for all as in MaxPool2d(3, 2).
auto window(std::vector<std::int64_t>& out) {
  return [&out](JsonValue value) {
    return is_number(value) ? read_value(value, out.emplace_back()) : read_value(value, out);
  };
}

}  // namespace

Status read_shapes(JsonValue value, operators::OpNode& node) {
  if (!value.is_array()) return value.expected("a list of extents");
  node.tuple = value.size() > 0 && value[0].is_array();
  if (node.tuple) return read_value(value, node.shapes);
  return read_value(value, node.shapes.emplace_back());
}

Status read_kind(JsonValue value, operators::OpKind& kind) {
  if (value.is_string()) {
    const std::string_view name = *value.string();
    for (const std::string_view joined : {"addmm", "addbmm", "baddbmm"}) {
      if (name == joined)
        return value.error("\"" + std::string(name) +
                           "\" is written as two nodes, a product (linear, matmul or bmm) and an "
                           "add, as ColossalAI's tracer does");
    }
  }
  return read_named(value, "operator", operators::op_kind_names(), kind);
}

Status read_call(JsonValue value, operators::OpCall& call) {
  if (value.is_null()) return {};
  return read_named(value, "call", operators::op_call_names(), call);
}

Status read_element_type(JsonValue value, operators::ElementType& type) {
  return read_named(value, "element type", operators::element_type_names(), type);
}

Status read_shard_option(JsonValue value, operators::ShardOption& option) {
  return read_named(value, "shard option", operators::shard_option_names(), option);
}

Status read_solver_preference(JsonValue value, operators::SolverPreference& preference) {
  return read_named(value, "solver preference", operators::solver_preference_names(), preference);
}

Status read_distributed(JsonValue value, bool& distributed) {
  return read_named(value, "distribution", kDistribution, distributed);
}

Status read_attrs(JsonValue value, OpAttrs& attrs, bool& distributed) {
  // Only the types of these are checked: strategies do not depend on their values.
  std::vector<std::int64_t> ignored, normalized_shape, output_size;
  std::vector<double> arguments;
  std::int64_t count = 0;
  double number = 0;
  bool flag = false;
  std::string word;
  return JsonMembers(value)
      .optional_with("kernel_size", window(attrs.kernel_size))
      .optional_with("stride", window(ignored))
      .optional_with("padding", window(ignored))
      .optional_with("dilation", window(ignored))
      .optional("groups", attrs.groups)
      .optional("bias", attrs.bias)
      .optional("in_channels", count)
      .optional("out_channels", count)
      .optional("num_features", count)
      .optional("num_embeddings", count)
      .optional("embedding_dim", count)
      .optional("eps", number)
      .optional("momentum", number)
      .optional("p", number)
      .optional("training", flag)
      .optional("affine", flag)
      .optional("elementwise_affine", flag)
      .optional("track_running_stats", flag)
      .optional("ceil_mode", flag)
      .optional("inplace", flag)
      .optional_with("normalized_shape", window(normalized_shape))
      .optional_with("output_size", window(output_size))
      .optional_with("start_dim", single_dim(attrs))
      .optional_with("end_dim", single_dim(attrs))
      .optional_with("dim", single_dim(attrs))
      .optional("dims", attrs.dims)
      .optional("keepdim", attrs.keepdim)
      .optional("split_size", attrs.split_size)
      .optional("target_shape", attrs.target_shape)
      .optional("given_shape", attrs.given_shape)
      .optional_with("index", [&](JsonValue v) { return read_index(v, attrs); })
      .optional("scalar", attrs.scalar)
      .optional("scalar_position", attrs.scalar_position)
      .optional("scalar_source", word)
      .optional("target", attrs.target)
      .optional("op", attrs.target)
      .optional("role", word)
      .optional("args", arguments)
      .optional_with("target_dtype", [&](JsonValue v) { return read_target_dtype(v, attrs); })
      .optional_with("option", [&](JsonValue v) { return read_distributed(v, distributed); })
      .finish();
}

void spread_window(operators::OpNode& node) {
  constexpr std::size_t kBatchAndChannels = 2;
  std::vector<std::int64_t>& window = node.attrs.kernel_size;
  if (window.size() != 1 || node.shapes.empty()) return;
  const std::size_t dims = node.shapes.front().size();
  if (dims > kBatchAndChannels) window.resize(dims - kBatchAndChannels, window.front());
}

void order_params(std::vector<operators::OpParam>& params) {
  const auto rank = [](const operators::OpParam& param) {
    return param.name == "weight" ? 0 : param.name == "bias" ? 1 : 2;
  };
  std::stable_sort(params.begin(), params.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

namespace {

using operators::OpGraph;
using operators::OpGraphOptions;
using operators::OpGraphSpec;
using operators::OpNode;
using operators::OpParam;

Status read_options(JsonValue value, OpGraphOptions& options) {
  return JsonMembers(value)
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
      JsonMembers(value)
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
      JsonMembers(root)
          .optional("name", spec.name)
          .optional_with("options", [&](JsonValue v) { return read_options(v, spec.options); })
          .required_with("nodes", [&](JsonValue v) { return read_nodes(v, spec.nodes); })
          .ignore({"expected", "group", "timing", "note"})
          .finish());
  return OpGraph::make(std::move(spec));
}

}  // namespace shardwright
