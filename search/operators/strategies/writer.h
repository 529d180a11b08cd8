// Writes the strategies of a node; matches dimensions of a tensor before and after a reshape.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "core/operators/graph/sharding_spec.h"
#include "search/operators/strategies/generate.h"
#include "search/operators/strategies/reshard_path.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright::operators::generators {

// Dimensions of the source that become dimensions of the target. Either side may be empty.
struct ReshapeGroup {
  std::vector<std::size_t> from;
  std::vector<std::size_t> to;
};

// Returns the groups from the last dimension to the first. Returns nullopt if the walk over one
// shape ends before the walk over the other. Precondition: equal element counts. Source:
// detect_reshape_mapping, ColossalAI colossalai/auto_parallel/tensor_shard/utils/reshape.py.
std::optional<std::vector<ReshapeGroup>> reshape_groups(std::span<const std::int64_t> from,
                                                        std::span<const std::int64_t> to);

// Returns the placement after the reshape, or nullopt if the placement cannot be kept. Only the
// first dimension of a group may be sharded. Source: check_keep_sharding_status,
// infer_output_dim_partition_dict.
std::optional<DimSpecs> reshape_placement(const std::vector<ReshapeGroup>& groups,
                                          const DimSpecs& from, std::size_t to_rank);

}  // namespace shardwright::operators::generators

namespace shardwright::operators {

// The input of all generators.
struct GeneratorInput {
  const OpGraph& graph;
  std::uint32_t index;
  const OpNode& node;
  const NodeStrategies* producer;
  const StrategyOptions& options;
  SpecTable& table;
  ReshardPlanner& planner;
};

// Adds strategies to a NodeStrategies, row by row. Thread safety: one thread at a time.
class StrategyWriter {
 public:
  StrategyWriter(NodeStrategies& out, SpecTable& table, ShardOption option)
      : out_(out), table_(table), option_(option) {}

  const DeviceMesh& mesh() const { return table_.mesh(); }
  const Operand& operand(std::size_t i) const { return out_.operands_[i]; }
  std::size_t num_operands() const { return out_.operands_.size(); }
  std::size_t output() const { return out_.operands_.size() - 1; }
  // Returns the operand with this name among parameters and buffers. Precondition: it exists.
  std::size_t param(std::string_view name) const;

  // Starts a row, which holds the specs of all tensors under one strategy. Drops an unfinished row.
  void begin();
  // Places all tensors of an operand alike. Returns false if the devices do not divide one of them.
  bool place(std::size_t operand, const DimSpecs& dims);
  // Places tensor i of the operand as specs[i] says.
  void place(std::size_t operand, std::span<const ShardingSpec* const> specs);
  // Returns the placement of the operand's first tensor.
  const ShardingSpec& placed(std::size_t operand) const;
  double local_elements(std::size_t operand) const {
    return static_cast<double>(placed(operand).local_elements);
  }
  // Returns the bytes of all tensors of the operand on one device.
  std::int64_t local_bytes(std::size_t operand) const;
  // Returns local_bytes() for four bytes per element, since ColossalAI measures the costs of some
  // operators on float tensors.
  std::int64_t local_float_bytes(std::size_t operand) const;

  // Turns the row into a strategy without costs. Returns nullptr if the shard option excludes it,
  // or if the node already has a strategy of that name. Precondition: every operand is placed. The
  // pointer is valid until the next finish().
  Strategy* finish(const StrategyName& name);
  // Drops a row that was not finished.
  void close() { out_.specs_.resize(out_.strategies_.size() * out_.width_); }

  // These add an action and its cost. `elements`: of the communicated tensor on one device.
  void all_reduce_forward(Strategy& strategy, std::size_t operand, std::uint8_t axes,
                          double elements) const;
  void all_reduce_backward(Strategy& strategy, std::size_t operand, std::uint8_t axes,
                           double elements) const;
  void gather(Strategy& strategy, std::size_t operand, std::uint8_t axes, double elements) const;
  void reshard(Strategy& strategy, std::size_t operand, const ReshardPath& path) const;
  // Adds an action that costs nothing.
  void note_all_reduce_backward(Strategy& strategy, std::size_t operand, std::uint8_t axes) const;

 private:
  bool allowed() const;
  bool duplicate(const StrategyName& name) const;
  void charge(Strategy& strategy, std::size_t operand, const PhaseCost& elements) const;

  NodeStrategies& out_;
  SpecTable& table_;
  ShardOption option_;
};

}  // namespace shardwright::operators

namespace shardwright::operators::generators {

// A generator adds the strategies of its node to the writer.
void generate_linear(const GeneratorInput& input, StrategyWriter& writer);
void generate_matmul(const GeneratorInput& input, StrategyWriter& writer);
void generate_batched_matmul(const GeneratorInput& input, StrategyWriter& writer);
void generate_convolution(const GeneratorInput& input, StrategyWriter& writer);
void generate_batch_norm(const GeneratorInput& input, StrategyWriter& writer);
void generate_layer_norm(const GeneratorInput& input, StrategyWriter& writer);
void generate_embedding(const GeneratorInput& input, StrategyWriter& writer);
void generate_pooling(const GeneratorInput& input, StrategyWriter& writer);
void generate_binary_elementwise(const GeneratorInput& input, StrategyWriter& writer);
void generate_where(const GeneratorInput& input, StrategyWriter& writer);
void generate_get_attr(const GeneratorInput& input, StrategyWriter& writer);
void generate_follow(const GeneratorInput& input, StrategyWriter& writer);
Status generate_placeholder(const GeneratorInput& input, StrategyWriter& writer);
Status generate_output(const GeneratorInput& input, StrategyWriter& writer);
void generate_tensor_constructor(const GeneratorInput& input, StrategyWriter& writer);

// The sets of axes that generators combine. A mesh of one axis has no pairs, and `all` is this
// axis. Strategies that get the same name are added once.
struct MeshAxes {
  using Pair = std::pair<std::uint8_t, std::uint8_t>;
  boost::container::static_vector<std::uint8_t, 2> singles;
  boost::container::static_vector<Pair, 2> pairs;  // (0, 1), (1, 0)
  std::uint8_t all = 0;

  explicit MeshAxes(const DeviceMesh& mesh);
};

// The axes of the rows, the contracted dimension and the columns of a product.
struct ProductAxes {
  std::uint8_t row = 0;
  std::uint8_t contracted = 0;
  std::uint8_t column = 0;

  StrategyName name(StrategyName::Form form, std::int32_t suffix = -1) const {
    return {form, row, contracted, column, 0, suffix, 0};
  }
};
using ProductAxesList = std::vector<ProductAxes>;

// Positions of operands in ColossalAI's order.
inline constexpr std::size_t kInput = 0;
inline constexpr std::size_t kOther = 1;  // the second factor of a product

inline DimSpec dim(std::uint8_t axes) { return DimSpec{axes}; }

// The extents of a tensor on one device.
class LocalShape {
 public:
  LocalShape(const DeviceMesh& mesh, const ShardingSpec& spec);

  std::size_t rank() const { return rank_; }
  double operator[](std::size_t i) const { return extents_[i]; }
  // Returns the i-th extent from the end: back(1) is the last extent.
  double back(std::size_t i) const { return extents_[rank_ - i]; }
  // Product of the extents [first, last).
  double product(std::size_t first, std::size_t last) const;
  double product() const { return product(0, rank_); }

 private:
  std::array<double, DimSpecs::kMaxRank> extents_{};
  std::size_t rank_;
};

// Returns the placement of a tensor that was broadcast to the shape of the result, given the
// placement of the result. Sets `removed` to the axes along which the tensor was repeated. Source:
// recover_sharding_spec_for_broadcast_shape, ColossalAI
// colossalai/auto_parallel/tensor_shard/utils/broadcast.py.
DimSpecs unbroadcast(const DimSpecs& logical, std::span<const std::int64_t> logical_shape,
                     std::span<const std::int64_t> physical_shape, std::uint8_t& removed);

// Calls visit(DimSpecs) for each of the first `count` dimensions, sharded by `axes`.
template <class Visit>
void place_single(std::size_t rank, std::size_t count, std::uint8_t axes, Visit&& visit) {
  for (std::size_t d = 0; d < count; ++d)
    visit(DimSpecs(rank).with(d, dim(axes)));
}

// Calls visit(DimSpecs) for two axes on two of the first `count` dimensions, in both orders. Then
// calls it for both axes on each of these dimensions.
template <class Visit>
void place_double(std::size_t rank, std::size_t count, const MeshAxes& axes, Visit&& visit) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      for (const auto& [first, second] : axes.pairs)
        visit(DimSpecs(rank).with(i, dim(first)).with(j, dim(second)));
    }
  }
  place_single(rank, count, axes.all, visit);
}

inline PhaseCost phases(double forward, double backward) {
  return {forward, backward, forward + backward};
}

// Sets the total to the sum of the phases.
PhaseMemory phases(const MemoryCost& forward, const MemoryCost& backward);

// Returns the memory of an operator that keeps its input and output in the forward pass and makes
// the gradient of its input in the backward pass.
PhaseMemory follow_memory(std::int64_t input_bytes, std::int64_t output_bytes, bool input_is_param);

// The cost of nodes that compute nothing. Source: ReshapeGenerator.update_compute_cost, ColossalAI
// node_handler/strategy/reshape_generator.py.
inline constexpr PhaseCost kNominalCompute{10, 10, 20};

}  // namespace shardwright::operators::generators
