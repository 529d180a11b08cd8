#include "runtime/io/operators/op_node_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

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
  SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value).required("slice", ends).finish());
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
  return ObjectReader(value)
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

}  // namespace shardwright
