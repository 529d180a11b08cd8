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
using operators::OpGraph;
using operators::OpKind;
using operators::OpNode;
using operators::OpParam;

constexpr std::array<std::string_view, 2> kDistribution{"replicated", "distributed"};

bool is_number(JsonValue value) {
  return value.type() == JsonType::kInteger || value.type() == JsonType::kUnsigned;
}

using Slice = std::vector<std::optional<std::int64_t>>;

void describe_slice(JsonMembers& members, Slice& ends) {
  members.required("slice", ends, "[start, stop, step]").from(3).up_to(3);
}

Status read_entry(JsonValue value, IndexEntry& entry) {
  if (is_number(value)) return read_value(value, entry.number);
  if (!value.is_object())
    return value.expected("a whole number or {\"slice\": [start, stop, step]}");
  Slice ends;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(value, [&](JsonMembers& members) { describe_slice(members, ends); }));
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

JsonShape index_shape() {
  const JsonShape entry = json::one_of({json::integer(), shape_by([](JsonMembers& members) {
                                          Slice ends;
                                          describe_slice(members, ends);
                                        })});
  return json::one_of({entry, json::list(entry)});
}

// Describes a number that is appended to `dims`.
void describe_dim(JsonMembers& members, std::string_view key, std::vector<std::int64_t>& dims) {
  members.optional_with(
      key, [&](JsonValue value) { return read_value(value, dims.emplace_back()); }, json::integer);
}

// Describes one number per dimension, or one for all dimensions, as in MaxPool2d(3, 2).
void describe_window(JsonMembers& members, std::string_view key, std::vector<std::int64_t>& out) {
  const auto read = [&](JsonValue value) {
    return is_number(value) ? read_value(value, out.emplace_back()) : read_value(value, out);
  };
  members.optional_with(key, read, [] {
    return json::one_of({json::integer(), json::list(json::integer())})
        .or_null()
        .says("A number, or one per dimension.");
  });
}

Status read_kind(JsonValue value, OpKind& kind) {
  if (value.is_string()) {
    const std::string_view name = *value.string();
    for (const std::string_view joined : {"addmm", "addbmm", "baddbmm"}) {
      if (name == joined)
        return value.error("\"" + std::string(name) +
                           "\" is written as two nodes, a product (linear, matmul or bmm) and an "
                           "add, as ColossalAI's tracer does");
    }
  }
  return read_value(value, kind);
}

}  // namespace

Status read_shapes(JsonValue value, OpNode& node) {
  if (!value.is_array()) return value.expected("a list of extents");
  node.tuple = value.size() > 0 && value[0].is_array();
  if (node.tuple) return read_value(value, node.shapes);
  return read_value(value, node.shapes.emplace_back());
}

JsonShape shapes_shape() {
  return json::one_of({json::list(json::integer()), json::list(json::list(json::integer()))})
      .says("Extents; a list of lists for a tuple.")
      .named("shape");
}

void describe_kind(JsonMembers& members, OpNode& node) {
  members
      .required_with(
          "kind", [&](JsonValue v) { return read_kind(v, node.kind); },
          [] { return shape_of(OpKind()); })
      .optional_with(
          "call", [&](JsonValue v) { return v.is_null() ? Status() : read_value(v, node.call); },
          [] {
            return shape_of(operators::OpCall()).or_null().says("How PyTorch calls the operator.");
          });
}

namespace {

void describe_each(JsonMembers& members, OpAttrs& attrs, bool& distributed) {
  // Only the types of these members are checked, since strategies do not depend on their values.
  std::vector<std::int64_t> ignored, normalized_shape, output_size;
  std::vector<double> arguments;
  std::int64_t count = 0;
  double number = 0;
  bool flag = false;
  std::string word;
  describe_window(members, "kernel_size", attrs.kernel_size);
  describe_window(members, "stride", ignored);
  describe_window(members, "padding", ignored);
  describe_window(members, "dilation", ignored);
  members.optional("groups", attrs.groups)
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
      .optional("inplace", flag);
  describe_window(members, "normalized_shape", normalized_shape);
  describe_window(members, "output_size", output_size);
  describe_dim(members, "start_dim", attrs.dims);
  describe_dim(members, "end_dim", attrs.dims);
  describe_dim(members, "dim", attrs.dims);
  members.optional("dims", attrs.dims)
      .optional("keepdim", attrs.keepdim)
      .optional("split_size", attrs.split_size)
      .optional("target_shape", attrs.target_shape)
      .optional("given_shape", attrs.given_shape)
      .optional_with(
          "index", [&](JsonValue v) { return read_index(v, attrs); }, index_shape)
      .optional("scalar", attrs.scalar)
      .optional("scalar_position", attrs.scalar_position)
      .optional("scalar_source", word)
      .optional("target", attrs.target)
      .optional("op", attrs.target)
      .optional("role", word)
      .optional("args", arguments)
      .optional_with(
          "target_dtype", [&](JsonValue v) { return read_value(v, attrs.target_dtype.emplace()); },
          [] { return shape_of(operators::ElementType()); })
      .word("option", distributed, "distribution", kDistribution);
}

}  // namespace

void describe_attrs(JsonMembers& members, OpAttrs& attrs, bool& distributed) {
  const auto describe = [&](JsonMembers& inner) { describe_each(inner, attrs, distributed); };
  members.optional_with(
      "attrs", [&](JsonValue v) { return read_by(v, describe); },
      [&] { return shape_by(describe).says("Arguments of the operator.").named("attrs"); });
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
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i], param->type));
  }
  return {};
}

void describe_node(JsonMembers& members, OpNode& node) {
  bool distributed = false;
  members.required("name", node.name);
  describe_kind(members, node);
  members
      .required_with(
          "shape", [&](JsonValue v) { return read_shapes(v, node); }, shapes_shape)
      .optional("dtype", node.type)
      .optional("is_param", node.is_param, "Whether the value counts as a parameter.")
      .required_with(
          "inputs", [&](JsonValue v) { return read_inputs(v, node.inputs); },
          [] {
            return json::list(json::natural())
                .or_null()
                .says("Indices of the nodes whose outputs this one reads.");
          })
      .optional_with(
          "params", [&](JsonValue v) { return read_params(v, node.params); },
          [] {
            return json::by_name(shape_of(operators::Extents()))
                .says("Shapes of parameters and buffers by name.");
          })
      .optional_with(
          "buffers", [&](JsonValue v) { return read_buffers(v, node.params); },
          [] { return json::list(json::text()).says("Which of `params` are buffers."); })
      .optional_with(
          "param_dtypes", [&](JsonValue v) { return read_param_dtypes(v, node.params); },
          [] { return json::by_name(shape_of(operators::ElementType())); });
  describe_attrs(members, node.attrs, distributed);
}

Status read_node(JsonValue value, OpNode& node) {
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(value, [&](JsonMembers& members) { describe_node(members, node); }));
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

namespace operators {

static void describe(JsonMembers& members, OpGraphOptions& options) {
  members.word("placeholder", options.distributed_placeholder, "distribution", kDistribution)
      .word("output", options.distributed_output, "distribution", kDistribution)
      .optional("shard_option", options.shard_option)
      .optional("solver_preference", options.solver_preference);
}

static void describe(JsonMembers& members, OpGraphSpec& spec) {
  members.optional("name", spec.name)
      .optional("options", spec.options)
      .required_with(
          "nodes", [&](JsonValue v) { return read_nodes(v, spec.nodes); },
          [] {
            return json::list(shape_by([](JsonMembers& inner) {
              OpNode sample;
              describe_node(inner, sample);
            }));
          })
      .ignore({"expected", "group", "timing", "note"});
}

}  // namespace operators

Result<OpGraph> read_op_graph(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kOperatorGraph));
  operators::OpGraphSpec spec;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(root, spec));
  return OpGraph::make(std::move(spec));
}

JsonShape op_graph_shape() {
  return shape_of(operators::OpGraphSpec())
      .says(
          "Operators with their shapes, in an order in which inputs come first. `operators build` "
          "reads it.");
}

}  // namespace shardwright
