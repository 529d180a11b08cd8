// Strategies: the ways in which an operator can run sharded, with their costs.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/graph/sharding_spec.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright::operators {

enum class OperandType : std::uint8_t { kArgument, kParameter, kBuffer, kOutput };

// A tensor that an operator reads, owns or returns. A tuple of tensors is a single operand.
struct Operand {
  static constexpr std::uint32_t kNoProducer = std::numeric_limits<std::uint32_t>::max();

  std::string name;
  OperandType type = OperandType::kArgument;
  bool tuple = false;
  std::int64_t element_bytes = 4;
  std::uint32_t producer = kNoProducer;  // node of the graph, or kNoProducer
  std::uint32_t first = 0;               // index of its first tensor among the tensors of the node
  std::vector<const TensorShape*> shapes;
};

enum class CommPattern : std::uint8_t {
  kAllReduceForward,   // all_reduce_fwd_identity_bwd
  kAllReduceBackward,  // identity_fwd_all_reduce_bwd
  kGatherForward,      // gather_fwd_split_bwd
  kReshard,            // a conversion of several steps
};
enum class CommPlace : std::uint8_t {
  kBefore,  // on an argument or its gradient, before the operator
  kAfter,   // on the output, after the operator
  kHook,    // on the gradient of a parameter, as a hook
};

struct CommAction {
  std::uint8_t operand = 0;
  CommPattern pattern = CommPattern::kReshard;
  std::uint8_t axes = 0;  // bit a = mesh axis a; several: the flattened mesh
  CommPlace place = CommPlace::kBefore;

  // The axis as ColossalAI shows it: 0 for the flattened mesh.
  int axis() const { return std::popcount(axes) == 1 ? std::countr_zero(axes) : 0; }
};

// Bytes on one device.
struct MemoryCost {
  std::int64_t activation = 0;
  std::int64_t parameter = 0;
  std::int64_t temporary = 0;
  std::int64_t buffer = 0;
};
struct PhaseMemory {
  MemoryCost forward;
  MemoryCost backward;
  MemoryCost total;
};

// The parts of a strategy's name. NodeStrategies::name() makes the text from them.
struct StrategyName {
  enum class Form : std::uint8_t {
    kMatmul,           // "S0S1 = S0R x RS1"
    kEmbedding,        // "S0S1 = S0 x RS1"
    kBatchNorm,        // "RS0 = RS0 x S0"
    kMatrixVector,     // "S0R = S0R x R"
    kDot,              // "R = S0 dot S0"
    kBatchedMatmul,    // "Sb0Si1 = Sb0Si1 x Sb0"
    kNoSplitNorm,      // "RR = RR x R"
    kLayerNorm,        // "[S0, R] = [S0, R] x [R]"
    kPool,             // "[S0, R] = [S0, R]"
    kBinary,           // "[S0] = [S0] <binary-elementwise-op> [S0]"
    kWhere,            // "[S0] = [S0] x [S0] x [S0]"
    kGetAttr,          // "get_attr [S0, R]"
    kFollow,           // "[S0, R] -> [S0]_3"
    kFullyReplicated,  // "[S0, R] -> FULLY REPLICATED_3"
    kSplit,            // "[S0, R]_3"
    kGetitem,          // "[R] = [R, S0]_3"
    kGetElement,       // "[R] = get the 1 element from ([R], [R], )_3"
    kReplica,          // "Replica Placeholder", "... Output", "... Tensor Constructor"
    kDistributed,      // "Distributed Placeholder", "Distributed Output"
  };

  Form form = Form::kMatmul;
  std::uint8_t row = 0;         // axes of the rows; of a batched product: of the batch
  std::uint8_t contracted = 0;  // axes of the contracted dimension
  std::uint8_t column = 0;      // axes of the columns
  std::uint8_t inner_row = 0;   // axes of the rows of a batched product
  std::int32_t suffix = -1;     // the number in "_3"; negative: none
  std::int32_t element = 0;

  friend bool operator==(const StrategyName&, const StrategyName&) = default;
};

struct Strategy {
  static constexpr std::size_t kMaxActions = 4;

  StrategyName name;
  std::array<CommAction, kMaxActions> actions{};
  std::uint8_t num_actions = 0;
  PhaseCost comm;  // for bytes
  PhaseCost compute;
  PhaseMemory memory;

  std::span<const CommAction> comm_actions() const { return {actions.data(), num_actions}; }
  // The bytes that count for a memory budget: all but temporary ones.
  std::int64_t budget_bytes() const {
    return memory.total.activation + memory.total.parameter + memory.total.buffer;
  }
};

// The strategies of one node. The operands are the inputs of the graph node (input k is operand k),
// then parameters and buffers, then the output. The specs of a strategy are a row with one spec for
// each tensor of each operand. Specs belong to the SpecTable that they were generated with. Thread
// safety: const members may be called from any thread.
class NodeStrategies {
 public:
  NodeStrategies() = default;
  // Makes the operands of the node, but no strategies.
  NodeStrategies(const OpGraph& graph, std::uint32_t index, SpecTable& table);

  std::size_t size() const { return strategies_.size(); }
  bool empty() const { return strategies_.empty(); }
  const Strategy& operator[](std::size_t s) const { return strategies_[s]; }
  std::span<const Operand> operands() const { return operands_; }
  const Operand& output() const { return operands_.back(); }

  // The specs of an operand under strategy `s`: one, or one per tensor of a tuple.
  std::span<const ShardingSpec* const> specs(std::size_t s, const Operand& operand) const {
    return {specs_.data() + s * width_ + operand.first, operand.shapes.size()};
  }
  // The specs of the k-th input of the graph node.
  std::span<const ShardingSpec* const> input_specs(std::size_t s, std::size_t k) const {
    return specs(s, operands_[k]);
  }
  std::span<const ShardingSpec* const> output_specs(std::size_t s) const {
    return specs(s, output());
  }
  const ShardingSpec* spec(std::size_t s, std::size_t operand) const {
    return specs_[s * width_ + operands_[operand].first];
  }

  // Returns ColossalAI's name of the strategy, which is unique within the node. Allocates.
  std::string name(std::size_t s) const;

 private:
  friend class StrategyWriter;

  std::vector<Operand> operands_;
  std::vector<Strategy> strategies_;
  std::vector<const ShardingSpec*> specs_;
  std::size_t width_ = 0;
  OpKind kind_ = OpKind::kPlaceholder;
};

}  // namespace shardwright::operators
