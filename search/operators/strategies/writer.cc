#include "search/operators/strategies/writer.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace shardwright::operators::generators {
namespace {

// The walk over one of the two shapes, from the last dimension to the first.
struct Side {
  std::span<const std::int64_t> shape;
  std::size_t taken = 0;  // number of dimensions already left behind
  std::int64_t size = 0;  // product of the group's extents so far
  std::vector<std::size_t> dims;

  explicit Side(std::span<const std::int64_t> of) : shape(of) { restart(); }

  bool done() const { return taken == shape.size(); }
  std::size_t current() const { return shape.size() - 1 - taken; }

  // Starts a group with the current dimension; without a dimension, an empty group of size 1.
  void restart() {
    size = done() ? 1 : shape[current()];
    dims.clear();
    if (!done()) dims.push_back(current());
  }
  // Adds the next dimension to the group. Returns false if there is none.
  bool extend() {
    ++taken;
    if (taken >= shape.size()) return false;
    size *= shape[current()];
    dims.push_back(current());
    return true;
  }
  // Starts a group with the rest of the current dimension, after the other side's group has taken
  // the factor `divisor` of it.
  void keep_rest(std::int64_t divisor) {
    size /= divisor;
    dims.assign(1, current());
  }
  // Makes a group of the rest of the current dimension and of the dimension before it.
  bool step_over() {
    ++taken;
    if (taken >= shape.size()) return false;
    size = shape[current()];
    dims.assign({current(), current() + 1});
    return true;
  }
};

// Advances when the group of `large` is larger than that of `small`. If `large` was extended last,
// closes the group and starts the next one with the rest of its current dimension. Else extends
// `small`.
bool advance(Side& large, Side& small, bool large_was_extended, bool& small_extended, bool& reset,
             const auto& close) {
  if (!large_was_extended) {
    small_extended = true;
    return small.extend();
  }
  close();
  large.keep_rest(small.size);
  reset = true;
  return small.step_over();
}

enum class Extended : unsigned char { kNone, kFrom, kTo };

}  // namespace

std::optional<std::vector<ReshapeGroup>> reshape_groups(std::span<const std::int64_t> from_shape,
                                                        std::span<const std::int64_t> to_shape) {
  Side from(from_shape);
  Side to(to_shape);
  std::vector<ReshapeGroup> groups;
  const auto close = [&] { groups.push_back({from.dims, to.dims}); };
  Extended extended = Extended::kNone;
  while (!from.done() || !to.done()) {
    bool reset = false;
    bool other_extended = false;
    if (from.size == to.size) {
      close();
      if (!from.dims.empty()) ++from.taken;
      if (!to.dims.empty()) ++to.taken;
      from.restart();
      to.restart();
      reset = true;
    } else if (from.size > to.size) {
      if (!advance(from, to, extended == Extended::kFrom, other_extended, reset, close))
        return std::nullopt;
      if (other_extended) extended = Extended::kTo;
    } else {
      if (!advance(to, from, extended == Extended::kTo, other_extended, reset, close))
        return std::nullopt;
      if (other_extended) extended = Extended::kFrom;
    }
    if (reset) extended = Extended::kNone;
  }
  return groups;
}

std::optional<DimSpecs> reshape_placement(const std::vector<ReshapeGroup>& groups,
                                          const DimSpecs& from, std::size_t to_rank) {
  DimSpecs to(to_rank);
  for (const ReshapeGroup& group : groups) {
    if (group.from.empty()) continue;
    const std::size_t first = *std::min_element(group.from.begin(), group.from.end());
    for (const std::size_t dim : group.from) {
      if (dim != first && !from[dim].replicated()) return std::nullopt;
    }
    if (from[first].replicated()) continue;
    if (group.to.empty()) return std::nullopt;
    to = to.with(*std::min_element(group.to.begin(), group.to.end()), from[first]);
  }
  return to;
}

}  // namespace shardwright::operators::generators

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
  // New entries are null, so that an operand without a placement is noticed.
  out_.specs_.resize(out_.strategies_.size() * out_.width_);
  out_.specs_.resize((out_.strategies_.size() + 1) * out_.width_, nullptr);
}

bool StrategyWriter::place(std::size_t operand, const DimSpecs& dims) {
  const Operand& placed = out_.operands_[operand];
  const ShardingSpec** row =
      out_.specs_.data() + out_.strategies_.size() * out_.width_ + placed.first;
  for (std::size_t i = 0; i < placed.shapes.size(); ++i) {
    // Most tensors of a split have the same shape.
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
  // The unfinished row; if there is none, the last row.
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
// colossalai/auto_parallel/tensor_shard/node_handler/node_handler.py, which does not count tuples.
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
    // The names of these forms contain only axes, so equal names mean equal strategies. For all
    // other forms, the specs are compared, too.
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
  // The cost of the split in the backward pass. Source: CommSpec.get_comm_cost, ColossalAI
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

namespace shardwright::operators::generators {

MeshAxes::MeshAxes(const DeviceMesh& mesh) {
  for (std::size_t axis = 0; axis < mesh.num_axes(); ++axis) {
    singles.push_back(static_cast<std::uint8_t>(1U << axis));
    all = static_cast<std::uint8_t>(all | singles.back());
  }
  if (mesh.num_axes() == 2) {
    pairs.emplace_back(singles[0], singles[1]);
    pairs.emplace_back(singles[1], singles[0]);
  }
}

LocalShape::LocalShape(const DeviceMesh& mesh, const ShardingSpec& spec) : rank_(spec.dims.rank()) {
  for (std::size_t i = 0; i < rank_; ++i) {
    const std::int64_t extent = spec.shape->dims[i] / mesh.devices_along(spec.dims[i].axes);
    extents_[i] = static_cast<double>(extent);
  }
}

double LocalShape::product(std::size_t first, std::size_t last) const {
  double product = 1;
  for (std::size_t i = first; i < last; ++i)
    product *= extents_[i];
  return product;
}

DimSpecs unbroadcast(const DimSpecs& logical, std::span<const std::int64_t> logical_shape,
                     std::span<const std::int64_t> physical_shape, std::uint8_t& removed) {
  DimSpecs physical(physical_shape.size());
  const std::size_t padding = logical_shape.size() - physical_shape.size();
  for (std::size_t d = 0; d < logical_shape.size(); ++d) {
    const DimSpec spec = logical[d];
    if (spec.replicated()) continue;
    if (d < padding || physical_shape[d - padding] != logical_shape[d]) {
      removed = static_cast<std::uint8_t>(removed | spec.axes);
    } else {
      physical = physical.with(d - padding, spec);
    }
  }
  return physical;
}

PhaseMemory phases(const MemoryCost& forward, const MemoryCost& backward) {
  return {forward,
          backward,
          {forward.activation + backward.activation, forward.parameter + backward.parameter,
           forward.temporary + backward.temporary, forward.buffer + backward.buffer}};
}

PhaseMemory follow_memory(std::int64_t input_bytes, std::int64_t output_bytes,
                          bool input_is_param) {
  MemoryCost forward{output_bytes, 0, 0, 0};
  MemoryCost backward{};
  (input_is_param ? forward.parameter : forward.activation) += input_bytes;
  (input_is_param ? backward.parameter : backward.activation) += input_bytes;
  return phases(forward, backward);
}

}  // namespace shardwright::operators::generators
