// Appends strategies to a node: places operands, checks what is allowed, adds up communication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "search/operators/reshard/reshard_path.h"
#include "search/operators/strategies/generate.h"
#include "search/operators/strategies/strategy.h"

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

// Thread safety: one thread at a time.
class StrategyWriter {
 public:
  StrategyWriter(NodeStrategies& out, SpecTable& table, ShardOption option)
      : out_(out), table_(table), option_(option) {}

  const DeviceMesh& mesh() const { return table_.mesh(); }
  const Operand& operand(std::size_t i) const { return out_.operands_[i]; }
  std::size_t num_operands() const { return out_.operands_.size(); }
  std::size_t output() const { return out_.operands_.size() - 1; }
  // The operand with this name among parameters and buffers. Precondition: there is one.
  std::size_t param(std::string_view name) const;

  // Starts a row and drops what was placed since the last finish().
  void begin();
  // Places all tensors of an operand in the same way. Returns false if the devices do not divide
  // one of them.
  bool place(std::size_t operand, const DimSpecs& dims);
  // Places each tensor as in another row.
  void place(std::size_t operand, std::span<const ShardingSpec* const> specs);
  // The placement of the operand's first tensor.
  const ShardingSpec& placed(std::size_t operand) const;
  double local_elements(std::size_t operand) const {
    return static_cast<double>(placed(operand).local_elements);
  }
  // The bytes of all tensors of the operand on one device.
  std::int64_t local_bytes(std::size_t operand) const;
  // As above with four bytes per element, for operators whose costs ColossalAI measures on tensors
  // of that type.
  std::int64_t local_float_bytes(std::size_t operand) const;

  // Turns the row into a strategy without costs. Returns nullptr if the shard option rules it out
  // or the node has a strategy of that name. Precondition: every operand is placed. The pointer is
  // valid until the next finish().
  Strategy* finish(const StrategyName& name);
  // Drops a row that was not finished.
  void close() { out_.specs_.resize(out_.strategies_.size() * out_.width_); }

  // Adds an action and its cost. `elements` are those of the communicated tensor on one device.
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
