#include "core/operators/graph/op_graph.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "core/check.h"
#include "core/operators/graph/op_graph_checks.h"
#include "core/operators/mesh/sharding_spec.h"

namespace shardwright::operators {
namespace {

constexpr std::array<std::string_view, 46> kKindNames{"placeholder",
                                                      "output",
                                                      "get_attr",
                                                      "conv1d",
                                                      "conv2d",
                                                      "conv3d",
                                                      "linear",
                                                      "batch_norm",
                                                      "layer_norm",
                                                      "embedding",
                                                      "max_pool1d",
                                                      "max_pool2d",
                                                      "max_pool3d",
                                                      "avg_pool1d",
                                                      "avg_pool2d",
                                                      "avg_pool3d",
                                                      "adaptive_avg_pool2d",
                                                      "flatten",
                                                      "default_reshape",
                                                      "unsqueeze",
                                                      "view",
                                                      "reshape",
                                                      "transpose",
                                                      "permute",
                                                      "split",
                                                      "getitem",
                                                      "softmax",
                                                      "sum",
                                                      "add",
                                                      "sub",
                                                      "mul",
                                                      "div",
                                                      "truediv",
                                                      "floordiv",
                                                      "pow",
                                                      "relu",
                                                      "tanh",
                                                      "abs",
                                                      "dropout",
                                                      "contiguous",
                                                      "to",
                                                      "type",
                                                      "where",
                                                      "matmul",
                                                      "bmm",
                                                      "tensor_constructor"};
constexpr std::array<std::string_view, 4> kCallNames{"", "module", "function", "method"};
constexpr std::array<std::string_view, 10> kElementTypeNames{
    "float32", "float64", "float16", "bfloat16", "int8",
    "uint8",   "int16",   "int32",   "int64",    "bool"};
constexpr std::array<std::int64_t, 10> kElementBytes{4, 8, 2, 2, 1, 1, 2, 4, 8, 1};
constexpr std::array<std::string_view, 4> kShardOptionNames{"standard", "shard", "full_shard",
                                                            "shard_last_axis"};
constexpr std::array<std::string_view, 3> kSolverPreferenceNames{"standard", "dp", "tp"};

Status check_shape(const Extents& shape, const std::string& where) {
  if (shape.size() > DimSpecs::kMaxRank) {
    return invalid_input(where, "a tensor may have at most eight dimensions, this one has " +
                                    std::to_string(shape.size()));
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1) {
      return invalid_input(where + "/" + std::to_string(d),
                           "an extent must be at least 1, is " + std::to_string(shape[d]));
    }
    if (shape[d] > OpGraph::kMaxElements / elements)
      return invalid_input(where, "a tensor may have at most 2^48 elements");
    elements *= shape[d];
  }
  return {};
}

Status check_shapes(const OpNode& node, const std::string& where) {
  if (node.shapes.empty()) return invalid_input(where + "/shape", "a node must have a shape");
  SHARDWRIGHT_CHECK(node.tuple || node.shapes.size() == 1);
  for (std::size_t i = 0; i < node.shapes.size(); ++i) {
    const std::string place = where + "/shape" + (node.tuple ? "/" + std::to_string(i) : "");
    SHARDWRIGHT_RETURN_IF_ERROR(check_shape(node.shapes[i], place));
  }
  std::unordered_set<std::string_view> names;
  for (const OpParam& param : node.params) {
    const std::string place = where + "/params/" + param.name;
    if (!names.insert(param.name).second) return invalid_input(place, "is given twice");
    SHARDWRIGHT_RETURN_IF_ERROR(check_shape(param.shape, place));
  }
  return {};
}

Status check_inputs(const OpNode& node, std::uint32_t index, const std::string& where) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::uint32_t input = node.inputs[i];
    const std::string place = where + "/inputs/" + std::to_string(i);
    if (input >= index) {
      return invalid_input(place, "an input must be a node before this one, " +
                                      std::to_string(input) + " is not before " +
                                      std::to_string(index));
    }
    if (std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                  input) != node.inputs.begin() + static_cast<std::ptrdiff_t>(i))
      return invalid_input(place, "node " + std::to_string(input) + " is an input twice");
  }
  return {};
}

}  // namespace

std::span<const std::string_view> op_kind_names() { return kKindNames; }
std::span<const std::string_view> op_call_names() { return kCallNames; }
std::span<const std::string_view> element_type_names() { return kElementTypeNames; }
std::span<const std::string_view> shard_option_names() { return kShardOptionNames; }
std::span<const std::string_view> solver_preference_names() { return kSolverPreferenceNames; }

std::string_view to_name(OpKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::string_view to_name(OpCall call) { return kCallNames[static_cast<std::size_t>(call)]; }
std::string_view to_name(ElementType type) {
  return kElementTypeNames[static_cast<std::size_t>(type)];
}
std::int64_t element_bytes(ElementType type) {
  return kElementBytes[static_cast<std::size_t>(type)];
}

bool is_binary_elementwise(OpKind kind) { return kind >= OpKind::kAdd && kind <= OpKind::kPow; }
bool is_unary_elementwise(OpKind kind) { return kind >= OpKind::kRelu && kind <= OpKind::kType; }
bool follows_input(OpKind kind) {
  return is_unary_elementwise(kind) || (kind >= OpKind::kAdaptiveAvgPool2d && kind <= OpKind::kSum);
}

std::size_t convolution_dims(OpKind kind) {
  if (kind < OpKind::kConv1d || kind > OpKind::kConv3d) return 0;
  return static_cast<std::size_t>(kind) - static_cast<std::size_t>(OpKind::kConv1d) + 1;
}
std::size_t pooling_dims(OpKind kind) {
  if (kind < OpKind::kMaxPool1d || kind > OpKind::kAvgPool3d) return 0;
  const OpKind first = is_average_pooling(kind) ? OpKind::kAvgPool1d : OpKind::kMaxPool1d;
  return static_cast<std::size_t>(kind) - static_cast<std::size_t>(first) + 1;
}
bool is_average_pooling(OpKind kind) {
  return kind >= OpKind::kAvgPool1d && kind <= OpKind::kAvgPool3d;
}

Result<OpGraph> OpGraph::make(OpGraphSpec spec) {
  if (spec.nodes.empty()) return invalid_input("/nodes", "a graph must have a node");
  std::unordered_set<std::string_view> names;
  for (std::uint32_t i = 0; i < spec.nodes.size(); ++i) {
    const OpNode& node = spec.nodes[i];
    const std::string where = "/nodes/" + std::to_string(i);
    if (node.name.empty()) return invalid_input(where + "/name", "a node must have a name");
    if (!names.insert(node.name).second)
      return invalid_input(where + "/name", "\"" + node.name + "\" names two nodes");
    SHARDWRIGHT_RETURN_IF_ERROR(check_shapes(node, where));
    SHARDWRIGHT_RETURN_IF_ERROR(check_inputs(node, i, where));
    SHARDWRIGHT_RETURN_IF_ERROR(internal::check_operands(spec.nodes, i));
  }
  return OpGraph(std::move(spec));
}

std::vector<std::size_t> op_dims(const OpAttrs& attrs, std::size_t rank) {
  std::vector<std::size_t> dims;
  dims.reserve(attrs.dims.size());
  for (const std::int64_t dim : attrs.dims)
    dims.push_back(static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim));
  return dims;
}

const OpParam* find_param(const OpNode& node, std::string_view name) {
  for (const OpParam& param : node.params) {
    if (param.name == name) return &param;
  }
  return nullptr;
}

std::optional<Extents> broadcast(const Extents& a, const Extents& b) {
  const Extents& longer = a.size() >= b.size() ? a : b;
  const Extents& shorter = a.size() >= b.size() ? b : a;
  Extents result = longer;
  const std::size_t padding = longer.size() - shorter.size();
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    std::int64_t& extent = result[padding + d];
    if (extent != shorter[d] && extent != 1 && shorter[d] != 1) return std::nullopt;
    extent = std::max(extent, shorter[d]);
  }
  return result;
}

}  // namespace shardwright::operators
