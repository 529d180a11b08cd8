// Graphs of PyTorch's ATen operators as a tracer records them: a training step or a forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::operators {

enum class AtenType : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kFloat8E4m3,
  kFloat8E5m2,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kComplex64,
  kComplex128,
};
inline constexpr std::size_t kNumAtenTypes = 17;

// torch's names without "torch.", indexed by AtenType.
std::span<const std::string_view> names_of(AtenType);
constexpr std::string_view what_of(AtenType) { return "dtype"; }
std::int64_t bytes_of(AtenType type);

// Thread safety: a value.
struct AtenTensor {
  redistribution::Shape shape;
  redistribution::Shape stride;  // in elements, one per dimension
  AtenType type = AtenType::kFloat32;

  friend bool operator==(const AtenTensor&, const AtenTensor&) = default;
};

// Returns the shape of the largest local tensor. The axes that shard a dimension divide its extent
// in the order of the placement; each division rounds up.
redistribution::Shape local_shape(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                                  const redistribution::Placement& placement);
std::int64_t local_bytes(const AtenTensor& tensor, const redistribution::MeshShape& mesh,
                         const redistribution::Placement& placement);

// A placement along one axis. Absent if there is no tensor or if its placement does not matter.
using MaybeAxisPlacement = std::optional<redistribution::AxisPlacement>;

// One way to run an operator along a mesh axis: the placement of every output and input along it.
struct AxisEntry {
  std::vector<MaybeAxisPlacement> outputs;
  std::vector<MaybeAxisPlacement> inputs;
  // For operators that split or join a dimension. If not 0, the product of the sizes of all mesh
  // axes that use this entry must divide this number.
  std::int64_t divides = 0;
  // Each device runs the operator on its part of the batch, such as a sort of its own rows. The
  // results are not parts of the whole result, so this entry is for the data axes of programs.
  bool by_part = false;

  friend bool operator==(const AxisEntry&, const AxisEntry&) = default;
};

// The origin of a rule, for reports.
enum class RuleSource : std::uint8_t { kTorch, kView, kOwn, kFallback };

// The entries from which each mesh axis of an operator takes one.
// Thread safety: a value.
struct AxisRule {
  std::vector<AxisEntry> entries;
  RuleSource source = RuleSource::kTorch;
};

// A node is an operator, or a placeholder for a tensor that comes from outside the graph. A tangent
// is the gradient with respect to an output.
enum class AtenRole : std::uint8_t { kOperator, kParameter, kBuffer, kInput, kTangent };

// An output of a node: the index of the node, and the index of the output in AtenNode::outputs.
struct TensorRef {
  std::uint32_t node = 0;
  std::uint32_t output = 0;

  friend bool operator==(const TensorRef&, const TensorRef&) = default;
};

// The factor times the product of the given extents of local tensors.
struct FlopTerm {
  struct Extent {
    bool of_output = false;
    std::uint32_t tensor = 0;  // index of an input or output
    std::uint32_t dim = 0;

    friend bool operator==(const Extent&, const Extent&) = default;
  };
  std::int64_t factor = 0;
  std::vector<Extent> extents;

  friend bool operator==(const FlopTerm&, const FlopTerm&) = default;
};

struct AtenNode {
  std::string name;
  std::string op;  // such as "aten.mm.default"; "placeholder" for placeholders
  AtenRole role = AtenRole::kOperator;
  std::string target;  // placeholders: name in the model; a tangent: target of its output
  std::uint32_t rule = 0;
  std::vector<TensorRef> inputs;                   // tensor arguments only, in order
  std::vector<std::optional<AtenTensor>> outputs;  // absent if not a tensor
  std::vector<FlopTerm> flops;                     // the operator has their sum
  bool view = false;  // outputs share the storage of the first input, and cost nothing
  bool backward = false;
  std::string module;  // dotted path; may be empty
  std::string line;    // line of the model's source; may be empty

  bool is_placeholder() const { return role != AtenRole::kOperator; }
};

// A mutation is the new value of a buffer or input.
enum class AtenOutputRole : std::uint8_t { kOutput, kGradient, kMutation };

// A tensor that leaves the graph. The target of a gradient is the target of its parameter or input.
// The target of a mutation is the target of the buffer or input.
struct AtenOutput {
  TensorRef value;
  AtenOutputRole role = AtenOutputRole::kOutput;
  std::string target;
};

struct AtenGraphSpec {
  std::string model;
  std::string torch;  // release of torch
  std::vector<AxisRule> rules;
  std::vector<AtenNode> nodes;
  std::vector<AtenOutput> outputs;
};

// A placeholder and an output of the graph that must have the same placement: a parameter or input
// and its gradient, a buffer and its new value, or a tangent and the output that it belongs to.
struct AtenPair {
  std::uint32_t placeholder = 0;  // index of a node
  std::uint32_t output = 0;       // index in AtenGraph::outputs()
};

// An immutable graph in topological order.
// Thread safety: const members may be called from any thread.
class AtenGraph {
 public:
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
  static constexpr std::int64_t kMaxFlops = std::int64_t{1} << 62;

  // Errors (kInvalidInput with the place, such as `/nodes/3/inputs/0`): no nodes; names that are
  // empty or repeat; an input that is not an output of an earlier node; a rule that does not exist
  // or has another number of inputs or outputs than its node; a shard of a dimension that a tensor
  // lacks; negative extents; tensors of 2^48 elements or more; flops of extents that do not exist;
  // a view without input; a placeholder with inputs or partial placements; a gradient, mutation or
  // tangent whose target does not exist or has another shape.
  static Result<AtenGraph> make(AtenGraphSpec spec);

  const std::string& model() const { return spec_.model; }
  const std::string& torch() const { return spec_.torch; }
  std::size_t size() const { return spec_.nodes.size(); }
  const AtenNode& operator[](std::size_t node) const { return spec_.nodes[node]; }
  std::span<const AtenNode> nodes() const { return spec_.nodes; }
  const AxisRule& rule_of(const AtenNode& node) const { return spec_.rules[node.rule]; }
  std::span<const AxisRule> rules() const { return spec_.rules; }
  std::span<const AtenOutput> outputs() const { return spec_.outputs; }
  std::span<const AtenPair> pairs() const { return pairs_; }
  // Precondition: the reference is an input of a node, or an output of the graph.
  const AtenTensor& tensor(const TensorRef& ref) const {
    return *spec_.nodes[ref.node].outputs[ref.output];
  }

 private:
  AtenGraph(AtenGraphSpec spec, std::vector<AtenPair> pairs)
      : spec_(std::move(spec)), pairs_(std::move(pairs)) {}

  AtenGraphSpec spec_;
  std::vector<AtenPair> pairs_;  // in the order of the graph's outputs
};

}  // namespace shardwright::operators
