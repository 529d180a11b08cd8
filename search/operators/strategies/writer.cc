#include "search/operators/strategies/writer.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace shardwright::operators {
namespace {

void add_action(Strategy& strategy, const CommAction& action) {
  SHARDWRIGHT_CHECK(strategy.num_actions < Strategy::kMaxActions);
  strategy.actions[strategy.num_actions++] = action;
}

CommPlace gradient_place(const Operand& operand) {
  return operand.type == OperandType::kParameter ? CommPlace::kHook : CommPlace::kBefore;
}

}  // namespace

std::size_t StrategyWriter::param(std::string_view name) const {
  for (std::size_t i = 0; i < out_.operands_.size(); ++i) {
    const Operand& operand = out_.operands_[i];
    if (operand.producer == Operand::kNoProducer && operand.type != OperandType::kOutput &&
        operand.name == name)
      return i;
  }
  SHARDWRIGHT_CHECK(false);
  return 0;
}

void StrategyWriter::begin() {
  // New entries are null, so a forgotten operand is noticed.
  out_.specs_.resize(out_.strategies_.size() * out_.width_);
  out_.specs_.resize((out_.strategies_.size() + 1) * out_.width_, nullptr);
}

bool StrategyWriter::place(std::size_t operand, const DimSpecs& dims) {
  const Operand& placed = out_.operands_[operand];
  const ShardingSpec** row =
      out_.specs_.data() + out_.strategies_.size() * out_.width_ + placed.first;
  for (std::size_t i = 0; i < placed.shapes.size(); ++i) {
    // The elements of a split mostly have one shape.
    row[i] = i > 0 && placed.shapes[i] == placed.shapes[i - 1]
                 ? row[i - 1]
                 : table_.find_or_add(placed.shapes[i], dims);
    if (row[i] == nullptr) return false;
  }
  return true;
}

void StrategyWriter::place(std::size_t operand, std::span<const ShardingSpec* const> specs) {
  const Operand& placed = out_.operands_[operand];
  SHARDWRIGHT_CHECK(specs.size() == placed.shapes.size());
  std::copy(specs.begin(), specs.end(),
            out_.specs_.begin() +
                static_cast<std::ptrdiff_t>(out_.strategies_.size() * out_.width_ + placed.first));
}

const ShardingSpec& StrategyWriter::placed(std::size_t operand) const {
  // The row under construction, or the last one if it is finished.
  const std::size_t row = out_.specs_.size() / out_.width_ - 1;
  return *out_.specs_[row * out_.width_ + out_.operands_[operand].first];
}

std::int64_t StrategyWriter::local_bytes(std::size_t operand) const {
  const Operand& of = out_.operands_[operand];
  const std::size_t row = (out_.specs_.size() / out_.width_ - 1) * out_.width_ + of.first;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < of.shapes.size(); ++i)
    elements += out_.specs_[row + i]->local_elements;
  return elements * of.element_bytes;
}

std::int64_t StrategyWriter::local_float_bytes(std::size_t operand) const {
  return local_bytes(operand) / out_.operands_[operand].element_bytes * 4;
}

Strategy* StrategyWriter::finish(const StrategyName& name) {
  if (!allowed() || duplicate(name)) return nullptr;
  Strategy& strategy = out_.strategies_.emplace_back();
  strategy.name = name;
  return &strategy;
}

// Source: NodeHandler.register_strategy, ColossalAI
// colossalai/auto_parallel/tensor_shard/node_handler/node_handler.py; tuples are not
// counted there.
bool StrategyWriter::allowed() const {
  if (option_ == ShardOption::kStandard) return true;
  unsigned used = 0;
  for (std::size_t i = 0; i < out_.operands_.size(); ++i) {
    if (!out_.operands_[i].tuple) used |= placed(i).dims.used_axes();
  }
  switch (option_) {
    case ShardOption::kShard:
      return used != 0;
    case ShardOption::kFullShard:
      return std::popcount(used) > 1;
    case ShardOption::kShardLastAxis:
      return used == 1U << (mesh().num_axes() - 1);
    case ShardOption::kStandard:
      break;
  }
  return true;
}

bool StrategyWriter::duplicate(const StrategyName& name) const {
  const auto row = [&](std::size_t s) {
    return out_.specs_.begin() + static_cast<std::ptrdiff_t>(s * out_.width_);
  };
  const std::size_t count = out_.strategies_.size();
  for (std::size_t s = 0; s < count; ++s) {
    if (!(out_.strategies_[s].name == name)) continue;
    // The names of these forms consist of axes alone. Other names contain the specs.
    if (name.form <= StrategyName::Form::kNoSplitNorm) return true;
    if (std::equal(row(s), row(s + 1), row(count))) return true;
  }
  return false;
}

// Source: StrategyGenerator.update_communication_cost, ColossalAI
// node_handler/strategy/strategy_generator.py.
void StrategyWriter::charge(Strategy& strategy, std::size_t operand,
                            const PhaseCost& elements) const {
  const auto bytes = static_cast<double>(out_.operands_[operand].element_bytes);
  strategy.comm.forward += elements.forward * bytes;
  strategy.comm.backward += elements.backward * bytes;
  strategy.comm.total += elements.total * bytes;
}

void StrategyWriter::all_reduce_forward(Strategy& strategy, std::size_t operand, std::uint8_t axes,
                                        double elements) const {
  add_action(strategy, {static_cast<std::uint8_t>(operand), CommPattern::kAllReduceForward, axes,
                        CommPlace::kAfter});
  const double cost = CollectiveAxis::over(mesh(), axes).all_reduce(elements);
  charge(strategy, operand, {cost, 0, cost});
}

void StrategyWriter::all_reduce_backward(Strategy& strategy, std::size_t operand, std::uint8_t axes,
                                         double elements) const {
  note_all_reduce_backward(strategy, operand, axes);
  const double cost = CollectiveAxis::over(mesh(), axes).all_reduce(elements);
  charge(strategy, operand, {0, cost, cost});
}

void StrategyWriter::note_all_reduce_backward(Strategy& strategy, std::size_t operand,
                                              std::uint8_t axes) const {
  add_action(strategy, {static_cast<std::uint8_t>(operand), CommPattern::kAllReduceBackward, axes,
                        gradient_place(out_.operands_[operand])});
}

void StrategyWriter::gather(Strategy& strategy, std::size_t operand, std::uint8_t axes,
                            double elements) const {
  // The backward cost of a split. Source: CommSpec.get_comm_cost, ColossalAI
  // colossalai/tensor/comm_spec.py.
  constexpr double kSplitCost = 100;
  add_action(strategy, {static_cast<std::uint8_t>(operand), CommPattern::kGatherForward, axes,
                        CommPlace::kBefore});
  const double cost = CollectiveAxis::over(mesh(), axes).all_gather(elements);
  charge(strategy, operand, {cost, kSplitCost, cost + kSplitCost});
}

void StrategyWriter::reshard(Strategy& strategy, std::size_t operand,
                             const ReshardPath& path) const {
  add_action(strategy,
             {static_cast<std::uint8_t>(operand), CommPattern::kReshard, 0, CommPlace::kBefore});
  for (const ReshardStep& step : path.steps)
    charge(strategy, operand, step.cost);
}

}  // namespace shardwright::operators
