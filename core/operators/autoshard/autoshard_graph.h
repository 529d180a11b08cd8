// The operator graph of the R/S auto-sharding problem: ops and the tensors that they read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace shardwright::operators::autoshard {

// The layout of a tensor's last two dimensions: R = replicated, S = sharded over all devices.
enum class Spec : std::uint8_t { kRR, kRS, kSR };
inline constexpr std::array<std::string_view, 3> kSpecNames{"RR", "RS", "SR"};
constexpr std::size_t index_of(Spec spec) { return static_cast<std::size_t>(spec); }
constexpr std::string_view name_of(Spec spec) { return kSpecNames[index_of(spec)]; }

enum class OpKind : std::uint8_t {
  kPlaceholder,
  kElementwise,
  kBinary,
  kLayerNorm,
  kSoftmax,
  kView,
  kPermute,
  kTranspose,
  kMatmul
};
inline constexpr std::array<std::string_view, 9> kOpKindNames{
    "placeholder", "elementwise", "binary",    "layernorm", "softmax",
    "view",        "permute",     "transpose", "matmul"};
constexpr std::string_view name_of(OpKind kind) {
  return kOpKindNames[static_cast<std::size_t>(kind)];
}

// The two versions of Slapo's cost model.
// Source: chhzh123/slapo, slapo/sharding/solver.py at 5f8f2d2 (v1) and at 5a66148 (v2).
enum class CostModel : std::uint8_t { kV1, kV2 };
inline constexpr std::array<std::string_view, 2> kCostModelNames{"v1", "v2"};

// The description of an op, not yet checked.
struct OpSpec {
  std::string name;
  OpKind kind = OpKind::kPlaceholder;
  std::vector<std::string> args;      // names of earlier ops: tensor arguments in order
  std::vector<std::int64_t> shape;    // of the output, in elements; empty = a scalar
  std::optional<std::string> prev;    // the tensor that a view, permute or transpose reads
  std::optional<std::string> module;  // path of the module that owns weight and bias
  std::string dtype = "float32";
};

struct Op {
  std::string name;
  OpKind kind = OpKind::kPlaceholder;
  std::vector<std::uint32_t> args;  // indices of earlier ops
  std::vector<std::int64_t> shape;
  std::optional<std::string> module;
  std::string dtype;
  std::array<std::int64_t, 2> elements{};  // of the output, by CostModel
  std::array<bool, 2> has_users{};         // whether some op reads the output, by CostModel
};

// A checked graph. Names are unique. Every op reads earlier ops only, in the number of its kind.
// Thread safety: immutable; shared freely.
class Graph {
 public:
  // Larger tensors are refused, so that every number of elements is exact as a double.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 53;

  // Errors: kInvalidInput; `where` is a JSON pointer below `/graph`. O(ops + args).
  static Result<Graph> make(std::vector<OpSpec> specs);

  std::size_t size() const { return ops_.size(); }
  const Op& op(std::size_t i) const { return ops_[i]; }
  std::span<const Op> ops() const { return ops_; }

  // Returns the ops whose tensors the op reads in a cost model: v1 does not connect views.
  std::span<const std::uint32_t> args(std::size_t i, CostModel model) const {
    if (model == CostModel::kV1 && ops_[i].kind == OpKind::kView) return {};
    return ops_[i].args;
  }
  // Returns the elements of the output: v1 multiplies the last two extents (1 if absent), v2 all.
  std::int64_t elements(std::size_t i, CostModel model) const {
    return ops_[i].elements[static_cast<std::size_t>(model)];
  }
  // Returns true if no op reads the output, so that it leaves the graph and must be replicated.
  bool is_output(std::size_t i, CostModel model) const {
    return !ops_[i].has_users[static_cast<std::size_t>(model)];
  }
  // Returns the kind of the op in a cost model: v1 treats layer norm and softmax as elementwise.
  OpKind kind(std::size_t i, CostModel model) const {
    const OpKind kind = ops_[i].kind;
    const bool reduces = kind == OpKind::kLayerNorm || kind == OpKind::kSoftmax;
    return model == CostModel::kV1 && reduces ? OpKind::kElementwise : kind;
  }
  // Returns the index of the op with this name, if any. O(ops).
  std::optional<std::size_t> find(std::string_view name) const;

 private:
  explicit Graph(std::vector<Op> ops) : ops_(std::move(ops)) {}

  std::vector<Op> ops_;
};

// Checks that the shape of every op follows from the shapes of its operands. Graph::make does not
// check this, since costs depend on numbers of elements only. Errors: kInvalidInput; `where` is the
// JSON pointer of a shape below `/graph`. O(ops + args + extents).
Status check_shapes(const Graph& graph);

// The specs that an op requires of its operands. These are its 0, 1 or 2 decision variables.
// Thread safety: a value.
struct OpSpecs {
  std::uint8_t count = 0;
  std::array<Spec, 2> specs{};

  friend bool operator==(const OpSpecs&, const OpSpecs&) = default;
};

using Assignment = std::vector<OpSpecs>;  // by op

// Costs are whole numbers, except those of v2 views, which are multiples of 1/devices. A "scaled"
// cost is multiplied by the number of devices. It is whole, so sums are exact in any order.

struct CostRow {
  std::string name;  // the op; "|-" and the resharded tensor; or "output"
  std::string in;
  std::string out;
  std::int64_t scaled_cost = 0;
  double cost = 0;  // elements moved

  friend bool operator==(const CostRow&, const CostRow&) = default;
};

struct Evaluation {
  std::vector<CostRow> rows;  // without a row for the total
  std::int64_t scaled_total = 0;
  double total = 0;
};

inline constexpr std::int64_t kMaxDevices = 1'000'000;

double unscaled(std::int64_t scaled_cost, std::int64_t devices);

// Checks that costs on this many devices can be computed. Errors: kInvalidInput at `/p`;
// kUnsupported at `/graph` if scaled costs could exceed 2^62.
Status check_request(const Graph& graph, std::int64_t devices);

// Returns the elements moved to reshard a tensor, truncated to a whole number. Source: see
// CostModel, `calculate_reshard_cost_z3`.
std::int64_t reshard_cost(Spec from, Spec to, std::int64_t elements, std::int64_t devices,
                          CostModel model);

// Returns the scaled cost of the op's own communication. `input` is the spec of its first operand
// before resharding, `required` the spec after. Source: see CostModel, `calculate_comm_cost_z3`.
std::int64_t scaled_own_cost(const Graph& graph, std::size_t op, Spec input, Spec required,
                             std::int64_t devices, CostModel model);

// Returns the variables of an op whose first variable is `first`, or nullopt if the op does not
// support `first`. For an op without variables, `first` is ignored.
std::optional<OpSpecs> specs_from_first(const Graph& graph, std::size_t op, Spec first,
                                        CostModel model);

// Returns the spec of the op's output. `input` is the spec of its first operand; it is ignored if
// the op has variables or no operands.
Spec output_spec(const Graph& graph, std::size_t op, const OpSpecs& specs, Spec input,
                 CostModel model);

// Returns the output spec of every op. Precondition: `assignment` has passed evaluate().
std::vector<Spec> output_specs(const Graph& graph, const Assignment& assignment, CostModel model);

// Returns the costs row by row, in the order of printing. Errors: those of check_request();
// kInvalidInput at `/assignment/<op>` for variables that are missing, too many or not allowed for
// the op. O(ops + args).
Result<Evaluation> evaluate(const Graph& graph, const Assignment& assignment, std::int64_t devices,
                            CostModel model);

}  // namespace shardwright::operators::autoshard
