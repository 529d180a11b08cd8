// Operator graphs of models, as a tracer records them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace shardwright::operators {

// The order is the order of names_of().
enum class OpKind : std::uint8_t {
  kPlaceholder,
  kOutput,
  kGetAttr,
  kConv1d,
  kConv2d,
  kConv3d,
  kLinear,
  kBatchNorm,
  kLayerNorm,
  kEmbedding,
  kMaxPool1d,
  kMaxPool2d,
  kMaxPool3d,
  kAvgPool1d,
  kAvgPool2d,
  kAvgPool3d,
  kAdaptiveAvgPool2d,
  kFlatten,
  kDefaultReshape,
  kUnsqueeze,
  kView,
  kReshape,
  kTranspose,
  kPermute,
  kSplit,
  kGetitem,
  kSoftmax,
  kSum,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kTruediv,
  kFloordiv,
  kPow,
  kRelu,
  kTanh,
  kAbs,
  kDropout,
  kContiguous,
  kTo,
  kType,
  kWhere,
  kMatmul,
  kBmm,
  kTensorConstructor,
};

// The form in which the model calls the operator; kNone for placeholder, get_attr and output.
enum class OpCall : std::uint8_t { kNone, kModule, kFunction, kMethod };

enum class ElementType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBfloat16,
  kInt8,
  kUint8,
  kInt16,
  kInt32,
  kInt64,
  kBool,
};

// Names as in files, indexed by the enumerations.
std::span<const std::string_view> names_of(OpKind);
std::span<const std::string_view> names_of(OpCall);  // the first name is empty
std::span<const std::string_view> names_of(ElementType);
// The word for such a name in errors.
constexpr std::string_view what_of(OpKind) { return "operator"; }
constexpr std::string_view what_of(OpCall) { return "call"; }
constexpr std::string_view what_of(ElementType) { return "element type"; }
std::string_view to_name(OpKind kind);
std::string_view to_name(OpCall call);
std::string_view to_name(ElementType type);

std::int64_t element_bytes(ElementType type);

// Returns true if a node of this kind has one strategy for each strategy of its first input.
bool follows_input(OpKind kind);
bool is_binary_elementwise(OpKind kind);
bool is_unary_elementwise(OpKind kind);
// Returns the number of spatial dimensions of a convolution, or of a pooling over windows; 0 for
// other kinds.
std::size_t convolution_dims(OpKind kind);
std::size_t pooling_dims(OpKind kind);
bool is_average_pooling(OpKind kind);

// One entry of a getitem index: a number, or a slice. Open ends of a slice are absent.
struct IndexEntry {
  std::optional<std::int64_t> number;
  std::optional<std::int64_t> start, stop, step;

  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

// The arguments of an operator that are not tensors. Only the members that its kind uses are set.
// `dims` are the dimensions of transpose (2), permute, sum, softmax (1), split (1) and flatten
// (first and last) as in the file: negative numbers count from the end. op_dims() returns them
// counted from the front.
struct OpAttrs {
  std::vector<std::int64_t> dims;
  bool keepdim = false;
  std::int64_t split_size = 0;
  std::vector<std::int64_t> target_shape;  // view: without -1
  std::vector<std::int64_t> given_shape;   // view: as in the file, perhaps with -1
  std::vector<IndexEntry> index;           // getitem
  bool index_is_list = false;
  std::optional<double> scalar;  // binary operators: the operand that is a number
  std::int64_t scalar_position = 0;
  std::int64_t groups = 1;
  std::vector<std::int64_t> kernel_size;    // pooling
  bool bias = false;                        // convolutions, linear
  std::string target;                       // get_attr: dotted path; default_reshape,
                                            // tensor_constructor: the operator (`op`)
  std::optional<ElementType> target_dtype;  // to, type

  friend bool operator==(const OpAttrs&, const OpAttrs&) = default;
};

using Extents = std::vector<std::int64_t>;

// A parameter or buffer that a module owns.
struct OpParam {
  std::string name;
  Extents shape;
  ElementType type = ElementType::kFloat32;
  bool buffer = false;
};

struct OpNode {
  std::string name;  // consumers list this node's tensor under this name
  OpKind kind = OpKind::kPlaceholder;
  OpCall call = OpCall::kNone;
  std::vector<Extents> shapes;  // several if the output is a tuple
  bool tuple = false;
  ElementType type = ElementType::kFloat32;
  bool is_param = false;              // the value counts as a parameter
  std::vector<std::uint32_t> inputs;  // indices of earlier nodes, in argument order
  std::vector<OpParam> params;
  OpAttrs attrs;
};

// The mesh axes that a node may use. Source: ShardOption, ColossalAI
// colossalai/auto_parallel/tensor_shard/options.py.
enum class ShardOption : std::uint8_t { kStandard, kShard, kFullShard, kShardLastAxis };
enum class SolverPreference : std::uint8_t { kStandard, kDataParallel, kTensorParallel };

std::span<const std::string_view> names_of(ShardOption);
std::span<const std::string_view> names_of(SolverPreference);
constexpr std::string_view what_of(ShardOption) { return "shard option"; }
constexpr std::string_view what_of(SolverPreference) { return "solver preference"; }

struct OpGraphOptions {
  bool distributed_placeholder = false;  // if false, replicated
  bool distributed_output = false;
  ShardOption shard_option = ShardOption::kStandard;
  SolverPreference solver_preference = SolverPreference::kStandard;
};

struct OpGraphSpec {
  std::string name;
  OpGraphOptions options;
  std::vector<OpNode> nodes;
};

// An immutable operator graph in topological order.
// Thread safety: const members may be called from any thread.
class OpGraph {
 public:
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

  // Errors: kInvalidInput with the place (such as `/nodes/3/inputs/0`) for a graph without nodes;
  // names that are empty or repeat; an input that is not an earlier node or is given twice; an
  // extent below one; tensors of more than eight dimensions or 2^48 elements; operands whose
  // number, rank or shape the kind does not allow; dimensions out of range. kUnsupported for
  // operators without strategies (a linear with a bias, a norm without weight and bias).
  static Result<OpGraph> make(OpGraphSpec spec);

  const std::string& name() const { return spec_.name; }
  const OpGraphOptions& options() const { return spec_.options; }
  std::size_t size() const { return spec_.nodes.size(); }
  const OpNode& operator[](std::size_t i) const { return spec_.nodes[i]; }
  std::span<const OpNode> nodes() const { return spec_.nodes; }

 private:
  explicit OpGraph(OpGraphSpec spec) : spec_(std::move(spec)) {}

  OpGraphSpec spec_;
};

// Returns attrs.dims, counted from the front of a tensor of this rank.
std::vector<std::size_t> op_dims(const OpAttrs& attrs, std::size_t rank);

// Returns the parameter with this name, or nullptr.
const OpParam* find_param(const OpNode& node, std::string_view name);

// Returns the shape to which two tensors broadcast, or nullopt if they do not.
std::optional<Extents> broadcast(const Extents& a, const Extents& b);

}  // namespace shardwright::operators

namespace shardwright::operators::checks {

// Checks the node with this index. Precondition: this node and all earlier ones have well-formed
// shapes and inputs. Errors: those of OpGraph::make.
Status check_operands(std::span<const OpNode> nodes, std::uint32_t index);

}  // namespace shardwright::operators::checks

namespace shardwright::operators {}  // namespace shardwright::operators
