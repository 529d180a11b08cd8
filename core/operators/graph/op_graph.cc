#include "core/operators/graph/op_graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/check.h"
#include "core/operators/graph/sharding_spec.h"
#include "core/text/printable.h"

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

std::span<const std::string_view> names_of(OpKind) { return kKindNames; }
std::span<const std::string_view> names_of(OpCall) { return kCallNames; }
std::span<const std::string_view> names_of(ElementType) { return kElementTypeNames; }
std::span<const std::string_view> names_of(ShardOption) { return kShardOptionNames; }
std::span<const std::string_view> names_of(SolverPreference) { return kSolverPreferenceNames; }

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
    SHARDWRIGHT_RETURN_IF_ERROR(checks::check_operands(spec.nodes, i));
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

namespace shardwright::operators::checks {

namespace {

// A node under check, with all nodes of the graph. Makes the errors of its checks.
struct OpSubject {
  std::span<const OpNode> nodes;
  const OpNode& node;
  std::string where;

  const OpNode& input(std::size_t i) const { return nodes[node.inputs[i]]; }
  const Extents& in(std::size_t i = 0) const { return input(i).shapes[0]; }
  const Extents& out() const { return node.shapes[0]; }
  // The weight of a linear, convolution or embedding: a parameter of the module, or input 1.
  const Extents* weight() const {
    if (node.call != OpCall::kModule) return &in(1);
    const OpParam* param = find_param(node, "weight");
    return param == nullptr ? nullptr : &param->shape;
  }
  Error error(const std::string& part, const std::string& message) const {
    return invalid_input(where + part,
                         std::string(to_name(node.kind)) + " \"" + node.name + "\": " + message);
  }
  Error unsupported(const std::string& message) const {
    Error result = error("", message);
    result.code = ErrorCode::kUnsupported;
    return result;
  }
  Error wrong_output(const Extents& expected) const {
    return error("/shape",
                 "the output must be " + extents_text(expected) + ", is " + extents_text(out()));
  }
};

// Checks attrs.dims: their number is `count` (any number if `count` is 0), and each is a dimension
// of the first input.
Status check_dims(const OpSubject& s, std::size_t count) {
  const auto rank = static_cast<std::int64_t>(s.in().size());
  const std::vector<std::int64_t>& dims = s.node.attrs.dims;
  if (count != 0 && dims.size() != count) {
    return s.error("/attrs", "needs " + std::to_string(count) + " dimensions, has " +
                                 std::to_string(dims.size()));
  }
  for (const std::int64_t dim : dims) {
    if (dim < -rank || dim >= rank) {
      return s.error("/attrs", "dimension " + std::to_string(dim) + " is out of range for " +
                                   extents_text(s.in()));
    }
  }
  return {};
}

// Returns false if a tensor of this shape has more elements than a graph allows.
bool is_countable(const Extents& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent > OpGraph::kMaxElements / product) return false;
    product *= extent;
  }
  return true;
}

std::int64_t elements(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Status check_permutation(const OpSubject& s) {
  const bool transpose = s.node.kind == OpKind::kTranspose;
  SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, transpose ? 2 : s.in().size()));
  std::vector<std::size_t> order(s.in().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<std::size_t> dims = op_dims(s.node.attrs, s.in().size());
  if (transpose) {
    std::swap(order[dims[0]], order[dims[1]]);
  } else {
    order = dims;
  }
  Extents expected;
  for (const std::size_t dim : order)
    expected.push_back(s.in()[dim]);
  std::sort(order.begin(), order.end());
  if (std::adjacent_find(order.begin(), order.end()) != order.end())
    return s.error("/attrs/dims", "must name every dimension once");
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_reshape(const OpSubject& s) {
  std::int64_t count = 0;
  for (const Extents& shape : s.node.shapes)
    count += elements(shape);
  if (count != elements(s.in()))
    return s.error("/shape", "must have as many elements as " + extents_text(s.in()));
  return {};
}

Status check_split(const OpSubject& s) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, 1));
  const std::size_t dim = op_dims(s.node.attrs, s.in().size())[0];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < s.node.shapes.size(); ++i) {
    Extents piece = s.node.shapes[i];
    if (piece.size() != s.in().size())
      return s.error("/shape/" + std::to_string(i), "must have as many dimensions as the input");
    sum += piece[dim];
    piece[dim] = s.in()[dim];
    if (piece != s.in())
      return s.error("/shape/" + std::to_string(i), "must differ from the input in one dimension");
  }
  if (sum != s.in()[dim]) return s.error("/shape", "the pieces do not add up to the input");
  return {};
}

Status check_getitem(const OpSubject& s) {
  const std::vector<IndexEntry>& index = s.node.attrs.index;
  if (index.empty()) return s.error("/attrs/index", "must not be empty");
  if (s.input(0).tuple) {
    const auto count = static_cast<std::int64_t>(s.input(0).shapes.size());
    if (s.node.attrs.index_is_list || !index[0].number || *index[0].number < -count ||
        *index[0].number >= count)
      return s.error("/attrs/index", "must be the number of an element of the tuple");
    const std::int64_t number = *index[0].number;
    const Extents& element =
        s.input(0).shapes[static_cast<std::size_t>(number < 0 ? number + count : number)];
    if (s.out() != element) return s.wrong_output(element);
    return {};
  }
  if (index.size() > s.in().size())
    return s.error("/attrs/index",
                   "has more entries than " + extents_text(s.in()) + " has dimensions");
  const auto numbers = static_cast<std::size_t>(
      std::count_if(index.begin(), index.end(),
                    [](const IndexEntry& entry) { return entry.number.has_value(); }));
  if (s.out().size() + numbers != s.in().size())
    return s.error("/shape", "must have one dimension less for every number of the index");
  return {};
}

Status check_sum(const OpSubject& s) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, 0));
  const std::vector<std::size_t> dims = op_dims(s.node.attrs, s.in().size());
  Extents expected;
  for (std::size_t d = 0; d < s.in().size(); ++d) {
    const bool summed = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!summed) expected.push_back(s.in()[d]);
    if (summed && s.node.attrs.keepdim) expected.push_back(1);
  }
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

// Precondition: a transpose, permute, reshape, split, getitem or sum, with the right number of
// inputs. Errors: those of OpGraph::make.
Status check_layout(const OpSubject& s) {
  switch (s.node.kind) {
    case OpKind::kTranspose:
    case OpKind::kPermute:
      return check_permutation(s);
    case OpKind::kSplit:
      return check_split(s);
    case OpKind::kGetitem:
      return check_getitem(s);
    case OpKind::kSum:
      return check_sum(s);
    default:
      return check_reshape(s);
  }
}

// `names` are the parameters that the module must have, each of shape `extents`.
Status check_norm(const OpSubject& s, std::span<const char* const> names, const Extents& extents) {
  if (s.node.call != OpCall::kModule) return s.unsupported("only the module form is supported");
  if (s.out() != s.in()) return s.wrong_output(s.in());
  for (const char* name : names) {
    const OpParam* param = find_param(s.node, name);
    if (param == nullptr) return s.unsupported(std::string("needs the parameter ") + name);
    if (param->shape != extents)
      return s.error(std::string("/params/") + name, "must be " + extents_text(extents));
  }
  return {};
}

// Preconditions: the kind matches the name of the function, and the number of inputs is right.
// Errors: those of OpGraph::make; kUnsupported for forms without strategies.
Status check_linear(const OpSubject& s) {
  if (s.node.attrs.bias)
    return s.unsupported("a bias must be a node of its own that is added to the product");
  const Extents* weight = s.weight();
  if (weight == nullptr) return s.error("/params", "has no weight");
  if (s.node.call == OpCall::kModule && s.node.params.size() != 1)
    return s.error("/params", "must be `weight` alone");
  if (s.in().empty() || weight->size() != 2 || (*weight)[1] != s.in().back()) {
    return s.error("", "an input " + extents_text(s.in()) + " does not fit a weight " +
                           extents_text(*weight) + " of [outputs, inputs]");
  }
  Extents expected = s.in();
  expected.back() = (*weight)[0];
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_convolution(const OpSubject& s) {
  const Extents* weight = s.weight();
  if (weight == nullptr) return s.error("/params", "has no weight");
  const std::int64_t groups = s.node.attrs.groups;
  if (groups < 1) return s.error("/attrs/groups", "must be at least 1");
  const std::size_t rank = convolution_dims(s.node.kind) + 2;
  if (s.in().size() != rank || weight->size() != rank || s.out().size() != rank) {
    return s.error("", "input " + extents_text(s.in()) + ", weight " + extents_text(*weight) +
                           " and output " + extents_text(s.out()) + " must have " +
                           std::to_string(rank) + " dimensions");
  }
  if (s.in()[1] % groups != 0 || (*weight)[1] != s.in()[1] / groups || s.out()[0] != s.in()[0] ||
      s.out()[1] != (*weight)[0]) {
    return s.error("", "an input " + extents_text(s.in()) + " and a weight " +
                           extents_text(*weight) + " do not make " + extents_text(s.out()));
  }
  const OpParam* bias = find_param(s.node, "bias");
  const bool module = s.node.call == OpCall::kModule;
  const bool has_bias = module ? bias != nullptr : s.node.inputs.size() == 3;
  if (s.node.attrs.bias != has_bias)
    return s.error("/attrs/bias", has_bias ? "is false, but there is a bias" : "there is no bias");
  const Extents expected{(*weight)[0]};
  if (has_bias && (module ? bias->shape : s.in(2)) != expected)
    return s.error("", "the bias must be " + extents_text(expected));
  if (module && (s.node.params[0].name != "weight" || s.node.params.size() != (has_bias ? 2U : 1U)))
    return s.error("/params", "must be `weight`, and `bias` if there is one");
  return {};
}

Status check_batch_norm(const OpSubject& s) {
  if (s.in().size() < 3 || s.in().size() > 5)
    return s.error("", "the input must have three to five dimensions");
  for (const OpParam& param : s.node.params) {
    if (param.shape.size() > 1) return s.error("/params/" + param.name, "must be a vector");
  }
  constexpr std::array<const char*, 4> kNames{"weight", "bias", "running_mean", "running_var"};
  return check_norm(s, kNames, {s.in()[1]});
}

Status check_layer_norm(const OpSubject& s) {
  const OpParam* weight = find_param(s.node, "weight");
  if (weight == nullptr) return s.unsupported("needs the parameter weight");
  const Extents& extents = weight->shape;
  const bool trailing = !extents.empty() && extents.size() <= s.in().size() &&
                        std::equal(extents.rbegin(), extents.rend(), s.in().rbegin());
  if (!trailing || s.node.params[0].name != "weight" || s.node.params.size() != 2)
    return s.error("/params", "must be `weight` and `bias` over the last dimensions of the input");
  constexpr std::array<const char*, 2> kNames{"weight", "bias"};
  return check_norm(s, kNames, extents);
}

Status check_embedding(const OpSubject& s) {
  const Extents* weight = s.weight();
  if (weight == nullptr || weight->size() != 2)
    return s.error("", "needs a weight of [embeddings, dimension]");
  if (s.node.call == OpCall::kModule && s.node.params.size() != 1)
    return s.error("/params", "must be `weight` alone");
  Extents expected = s.in();
  expected.push_back((*weight)[1]);
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_input_count(const OpSubject& s) {
  std::size_t least = 1;
  std::size_t most = 1;
  switch (s.node.kind) {
    case OpKind::kPlaceholder:
    case OpKind::kGetAttr:
    case OpKind::kTensorConstructor:
      least = most = 0;
      break;
    case OpKind::kOutput:
      most = s.nodes.size();
      break;
    case OpKind::kWhere:
      least = most = 3;
      break;
    case OpKind::kMatmul:
    case OpKind::kBmm:
      least = most = 2;
      break;
    case OpKind::kConv1d:
    case OpKind::kConv2d:
    case OpKind::kConv3d:
      least = s.node.call == OpCall::kModule ? 1 : 2;
      most = least + (s.node.call != OpCall::kModule && s.node.attrs.bias ? 1 : 0);
      break;
    case OpKind::kLinear:
    case OpKind::kEmbedding:
      least = most = s.node.call == OpCall::kModule ? 1 : 2;
      break;
    default:
      if (is_binary_elementwise(s.node.kind)) least = most = s.node.attrs.scalar ? 1 : 2;
  }
  const std::size_t count = s.node.inputs.size();
  if (count >= least && count <= most) return {};
  return s.error("/inputs", "takes " + std::to_string(least) +
                                (most > least ? " or more inputs" : " inputs") + ", has " +
                                std::to_string(count));
}

Status check_tuples(const OpSubject& s) {
  const OpKind kind = s.node.kind;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (s.input(i).tuple && kind != OpKind::kGetitem && kind != OpKind::kOutput)
      return s.error("/inputs/" + std::to_string(i), "takes tensors, not a tuple of tensors");
  }
  const bool may_be_tuple =
      kind == OpKind::kSplit || kind == OpKind::kOutput || kind == OpKind::kDefaultReshape;
  if (s.node.tuple && !may_be_tuple) return s.error("/shape", "makes one tensor, not a tuple");
  if (kind == OpKind::kSplit && !s.node.tuple) return s.error("/shape", "makes a tuple of tensors");
  return {};
}

Status check_pooling(const OpSubject& s) {
  const std::size_t dims = pooling_dims(s.node.kind);  // 0 if adaptive: any number of dimensions
  const std::size_t rank = s.in().size();
  if (dims == 0 ? rank < 3 || rank > 5 : rank != dims + 2)
    return s.error("", "an input " + extents_text(s.in()) + " has the wrong number of dimensions");
  if (s.out().size() != rank || s.out()[0] != s.in()[0] || s.out()[1] != s.in()[1])
    return s.error("/shape", "must keep the batch and channels of " + extents_text(s.in()));
  if (!is_average_pooling(s.node.kind)) return {};
  // The cost depends on the window.
  const std::vector<std::int64_t>& window = s.node.attrs.kernel_size;
  if (window.size() != dims || !is_countable(window) ||
      *std::min_element(window.begin(), window.end()) < 1)
    return s.error("/attrs/kernel_size",
                   "must be " + std::to_string(dims) + " extents of at least 1");
  return {};
}

Status check_matmul(const OpSubject& s) {
  if (s.in(0).empty() || s.in(1).empty()) return s.error("", "does not take scalars");
  if (s.node.kind == OpKind::kBmm && (s.in(0).size() != 3 || s.in(1).size() != 3))
    return s.error("", "takes tensors of three dimensions");
  Extents a = s.in(0);
  Extents b = s.in(1);
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const auto batch = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (a.back() != b[b.size() - 2] || !batch)
    return s.error("", "cannot multiply " + extents_text(s.in(0)) + " by " + extents_text(s.in(1)));
  // Costs count both operands as broadcast to the whole batch.
  for (Extents matrix : {a, b}) {
    matrix.erase(matrix.begin(), matrix.end() - 2);
    matrix.insert(matrix.begin(), batch->begin(), batch->end());
    if (!is_countable(matrix)) return s.error("", "operands are too large when broadcast");
  }
  Extents expected = *batch;
  if (!row) expected.push_back(a[a.size() - 2]);
  if (!column) expected.push_back(b.back());
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_broadcast(const OpSubject& s) {
  Extents expected = s.in();
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i) {
    const auto both = broadcast(expected, s.in(i));
    if (!both) {
      return s.error("/inputs/" + std::to_string(i),
                     extents_text(s.in(i)) + " does not broadcast with " + extents_text(expected));
    }
    expected = *both;
  }
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

// Only these modules own parameters and buffers. Their own checks test which ones.
Status check_params(const OpSubject& s) {
  const OpKind kind = s.node.kind;
  const bool owner = kind == OpKind::kLinear || kind == OpKind::kBatchNorm ||
                     kind == OpKind::kLayerNorm || kind == OpKind::kEmbedding ||
                     convolution_dims(kind) > 0;
  if (s.node.params.empty() || (owner && s.node.call == OpCall::kModule)) return {};
  return s.error("/params", "must be empty: only modules with weights have parameters");
}

Status check_output(const OpSubject& s) {
  std::vector<Extents> expected;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    const OpNode& input = s.input(i);
    expected.insert(expected.end(), input.shapes.begin(), input.shapes.end());
  }
  if (s.node.shapes != expected) return s.error("/shape", "must be the shapes of the inputs");
  return {};
}

}  // namespace

Status check_operands(std::span<const OpNode> nodes, std::uint32_t index) {
  const OpSubject s{nodes, nodes[index], "/nodes/" + std::to_string(index)};
  SHARDWRIGHT_RETURN_IF_ERROR(check_input_count(s));
  SHARDWRIGHT_RETURN_IF_ERROR(check_tuples(s));
  SHARDWRIGHT_RETURN_IF_ERROR(check_params(s));
  switch (s.node.kind) {
    case OpKind::kPlaceholder:
    case OpKind::kGetAttr:
    case OpKind::kTensorConstructor:
      return {};
    case OpKind::kOutput:
      return check_output(s);
    case OpKind::kConv1d:
    case OpKind::kConv2d:
    case OpKind::kConv3d:
      return check_convolution(s);
    case OpKind::kLinear:
      return check_linear(s);
    case OpKind::kBatchNorm:
      return check_batch_norm(s);
    case OpKind::kLayerNorm:
      return check_layer_norm(s);
    case OpKind::kEmbedding:
      return check_embedding(s);
    case OpKind::kMaxPool1d:
    case OpKind::kMaxPool2d:
    case OpKind::kMaxPool3d:
    case OpKind::kAvgPool1d:
    case OpKind::kAvgPool2d:
    case OpKind::kAvgPool3d:
    case OpKind::kAdaptiveAvgPool2d:
      return check_pooling(s);
    case OpKind::kFlatten:
    case OpKind::kDefaultReshape:
    case OpKind::kUnsqueeze:
    case OpKind::kView:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kPermute:
    case OpKind::kSplit:
    case OpKind::kGetitem:
    case OpKind::kSum:
      return check_layout(s);
    case OpKind::kSoftmax:
      SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, 1));
      return s.out() == s.in() ? Status() : Status(s.wrong_output(s.in()));
    case OpKind::kMatmul:
    case OpKind::kBmm:
      return check_matmul(s);
    default:
      return check_broadcast(s);  // one tensor broadcasts to itself
  }
}

}  // namespace shardwright::operators::checks

namespace shardwright::operators {}  // namespace shardwright::operators
